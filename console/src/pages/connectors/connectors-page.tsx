import { PageHeader } from "~/ui/page";

export function ConnectorsPage() {
  return <PageHeader title="Connectors" />;
}
