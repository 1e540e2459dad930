import { PageHeader } from "~/ui/page";

export function DriftPage() {
  return <PageHeader title="Configuration drift" />;
}
