import { PageHeader } from "~/ui/page";

export function AppClientsPage() {
  return <PageHeader title="App clients" />;
}
