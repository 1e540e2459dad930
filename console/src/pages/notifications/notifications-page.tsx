import { PageHeader } from "~/ui/page";

export function NotificationsPage() {
  return <PageHeader title="Notifications" />;
}
