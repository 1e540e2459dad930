import { PageHeader } from "~/ui/page";

export function AccountPage() {
  return <PageHeader title="Account" />;
}
