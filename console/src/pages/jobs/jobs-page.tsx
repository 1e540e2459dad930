import { PageHeader } from "~/ui/page";

export function JobsPage() {
  return <PageHeader title="Jobs" />;
}
