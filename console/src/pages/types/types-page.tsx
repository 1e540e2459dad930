import { PageHeader } from "~/ui/page";

export function TypesPage() {
  return <PageHeader title="Device types" />;
}
