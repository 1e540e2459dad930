import { PageHeader } from "~/ui/page";

export function RecordTracePage() {
  return <PageHeader title="Trace" />;
}
