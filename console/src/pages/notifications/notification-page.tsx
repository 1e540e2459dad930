import { PageHeader } from "~/ui/page";

export function NotificationPage() {
  return <PageHeader title="Notification" />;
}
