import { PageHeader } from "~/ui/page";

export function NewNotificationPage() {
  return <PageHeader title="New notification" />;
}
