import { PageHeader } from "~/ui/page";

export function AuditPage() {
  return <PageHeader title="Audit log" />;
}
