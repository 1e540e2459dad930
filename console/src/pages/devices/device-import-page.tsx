import { PageHeader } from "~/ui/page";

export function DeviceImportPage() {
  return <PageHeader title="Import devices" />;
}
