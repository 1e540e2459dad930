import { PageHeader } from "~/ui/page";

export function OverviewPage() {
  return <PageHeader title="Overview" />;
}
