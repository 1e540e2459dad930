import { PageHeader } from "~/ui/page";

export function TypePage() {
  return <PageHeader title="Device type" />;
}
