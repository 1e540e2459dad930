import { PageHeader } from "~/ui/page";

export function LivePage() {
  return <PageHeader title="Live" />;
}
