import { PageHeader } from "~/ui/page";

export function GroupSettingsPage() {
  return <PageHeader title="Group" />;
}
