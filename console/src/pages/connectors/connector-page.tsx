import { PageHeader } from "~/ui/page";

export function ConnectorPage() {
  return <PageHeader title="Connector" />;
}
