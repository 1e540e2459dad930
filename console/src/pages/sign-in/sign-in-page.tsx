import { PageHeader } from "~/ui/page";

export function SignInPage() {
  return <PageHeader title="Sign in" />;
}
