import { PageHeader } from "~/ui/page";

export function NewConnectorPage() {
  return <PageHeader title="New connector" />;
}
