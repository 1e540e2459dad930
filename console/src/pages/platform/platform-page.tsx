import { PageHeader } from "~/ui/page";

export function PlatformPage() {
  return <PageHeader title="Platform" />;
}
