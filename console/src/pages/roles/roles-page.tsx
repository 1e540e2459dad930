import { PageHeader } from "~/ui/page";

export function RolesPage() {
  return <PageHeader title="Roles" />;
}
