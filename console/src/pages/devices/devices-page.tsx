import { PageHeader } from "~/ui/page";

export function DevicesPage() {
  return <PageHeader title="Devices" />;
}
