// The session has ended: the page stays as it was, and goes on after signing in again.
import { useState } from "react";
import { CONSOLE_HEADERS, api, read } from "~/api/client";
import { queryClient, sessionQuery } from "~/api/queries";
import { CONSOLE_PATH } from "~/base-path";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { useSubmission } from "~/ui/submit";
import { t } from "~/messages/frame";

export function SignedOutDialog({ onSignedIn }: { onSignedIn: () => void }) {
  const session = queryClient.getQueryData(sessionQuery.queryKey);
  const [email, setEmail] = useState(session?.user.email ?? "");
  const [password, setPassword] = useState("");
  const submission = useSubmission();
  const signIn = async () => {
    const fresh = await read(api.POST("/session", { params: { header: CONSOLE_HEADERS }, body: { email, password } }));
    queryClient.setQueryData(sessionQuery.queryKey, fresh);
    onSignedIn();
  };
  return (
    <Dialog title={t("YourSessionHasEnded")} onClose={() => {}}>
      <Form
        submission={submission}
        onSubmit={signIn}
        submit={t("SignIn")}
        isDraft={false}
        extra={
          <>
            <Button onClick={() => window.open(`${CONSOLE_PATH}/sign-in`, "_blank")}>{t("AnotherWayToSignIn")}</Button>
            <Button
              look="quiet"
              onClick={() => {
                void queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 }).then((found) => found && onSignedIn());
              }}
            >
              {t("IHaveSignedIn")}
            </Button>
          </>
        }
      >
        <p>{t("SignInAgainToGoOn")}</p>
        <TextField label={t("Email")} type="email" autoComplete="username" value={email} onChange={(event) => setEmail(event.target.value)} />
        <TextField label={t("Password")} type="password" autoComplete="current-password" value={password} onChange={(event) => setPassword(event.target.value)} />
      </Form>
    </Dialog>
  );
}
