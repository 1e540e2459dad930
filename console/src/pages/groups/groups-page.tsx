import { PageHeader } from "~/ui/page";

export function GroupsPage() {
  return <PageHeader title="Groups" />;
}
