import { PageHeader } from "~/ui/page";

export function MessagesPage() {
  return <PageHeader title="Messages" />;
}
