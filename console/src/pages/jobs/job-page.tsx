import { PageHeader } from "~/ui/page";

export function JobPage() {
  return <PageHeader title="Job" />;
}
