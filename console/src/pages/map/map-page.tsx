import { PageHeader } from "~/ui/page";

export function MapPage() {
  return <PageHeader title="Map" />;
}
