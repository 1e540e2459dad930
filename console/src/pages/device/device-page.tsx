import { PageHeader } from "~/ui/page";

export function DevicePage() {
  return <PageHeader title="Device" />;
}
