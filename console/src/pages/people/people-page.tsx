import { PageHeader } from "~/ui/page";

export function PeoplePage() {
  return <PageHeader title="People" />;
}
