import { PageHeader } from "~/ui/page";

export function MessageTracePage() {
  return <PageHeader title="Trace" />;
}
