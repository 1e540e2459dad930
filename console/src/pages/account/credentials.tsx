// Name, password and authenticator app.
import { useState } from "react";
import { ApiProblem, api, read, type Schemas } from "~/api/client";
import { queryClient, sessionQuery } from "~/api/queries";
import { CopyButton } from "~/ui/copy";
import { TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { NewPasswordField } from "~/ui/new-password-field";
import { Card } from "~/ui/page";
import { useSubmission } from "~/ui/submit";
import { showToast } from "~/ui/toast";
import { wordsForError } from "~/pages/sign-in/failures";
import { refreshChanges } from "./changes";
import { t } from "~/messages/account";

const refreshSession = () => Promise.all([queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey }), refreshChanges()]);

export function NameForm({ user }: { user: Schemas["User"] }) {
  const [name, setName] = useState(user.name ?? "");
  const submission = useSubmission(["name"], wordsForError);
  const save = async () => {
    await read(api.PUT("/user", { body: { name } }));
    await refreshSession();
    showToast(t("YourNameIsChanged"));
  };
  return (
    <Card title={t("Name")}>
      <Form submission={submission} onSubmit={save} submit={t("Save")} look="normal">
        <TextField label={t("DisplayName")} value={name} error={submission.errorOf("name")} onChange={(event) => setName(event.target.value)} />
      </Form>
    </Card>
  );
}

export function PasswordForm({ session }: { session: Schemas["SessionInfo"] }) {
  const [old, setOld] = useState("");
  const [fresh, setFresh] = useState("");
  const [asksForOld, setAsksForOld] = useState(false);
  const submission = useSubmission(["new"], wordsForError);
  const save = async () => {
    try {
      await read(api.PUT("/user/password", { body: asksForOld ? { old, new: fresh } : { new: fresh } }));
    } catch (failure) {
      // The session is no longer new, so that the present password is needed.
      const isOwn = session.issuedBy === undefined;
      if (failure instanceof ApiProblem && failure.code === "session_not_fresh" && session.hasPassword && isOwn && !asksForOld) {
        setAsksForOld(true);
        throw new Error("Enter your present password as well, because you have not just signed in.");
      }
      throw failure;
    }
    setOld("");
    setFresh("");
    setAsksForOld(false);
    await refreshSession();
    showToast(t("passwordIsSetYourOtherSessions"));
  };
  return (
    <Card title={t("Password")} note={session.hasPassword ? "set" : t("noneYet")}>
      <Form submission={submission} onSubmit={save} submit={t("SetPassword")} look="normal">
        <input type="email" autoComplete="username" hidden readOnly value={session.user.email ?? ""} />
        {asksForOld && (
          <TextField label={t("PresentPassword")} type="password" autoComplete="current-password" required value={old} onChange={(event) => setOld(event.target.value)} />
        )}
        <NewPasswordField value={fresh} error={submission.errorOf("new")} onChange={setFresh} />
      </Form>
    </Card>
  );
}

export function AuthenticatorApp({ hasTotp }: { hasTotp: boolean }) {
  const [secret, setSecret] = useState<Schemas["TotpSecret"] | null>(null);
  const [recovery, setRecovery] = useState<readonly string[]>([]);
  const [code, setCode] = useState("");
  const submission = useSubmission([], wordsForError);
  const send = async () => {
    if (hasTotp) await read(api.DELETE("/user/totp", { body: { code } }));
    else if (secret) setRecovery((await read(api.PUT("/user/totp", { body: { code } }))).recoveryCodes);
    else {
      setSecret(await read(api.POST("/user/totp", {})));
      return;
    }
    setCode("");
    setSecret(null);
    await refreshSession();
  };
  const asksForCode = hasTotp || secret !== null;
  return (
    <Card title={t("AuthenticatorApp")} note={hasTotp ? "on" : "off"}>
      <Form submission={submission} onSubmit={send} submit={hasTotp ? t("TurnOff") : secret ? t("Confirm") : t("TurnOn")} look="normal">
        <p className="ink-2">
          {hasTotp ? t("YourPasswordAndLinksByMail") : t("WithItYourPasswordAloneSigns")}
        </p>
        {secret && (
          <p>
            {t.rich("EnterThisSecretInYourApp", { code: <code>{secret.secret}</code>, copyButton: <CopyButton text={secret.secret} />, link: <a href={secret.uri}>{t("OpenInApp")}</a> })}
          </p>
        )}
        {recovery.length > 0 && (
          <div role="status">
            <p>{t("KeepTheseRecoveryCodesEachReplaces")}</p>
            <pre>{recovery.join("\n")}</pre>
            <CopyButton text={recovery.join("\n")} label={t("CopyCodes")} />
          </div>
        )}
        {asksForCode && (
          <TextField label={t("Code")} autoComplete="one-time-code" maxLength={32} required value={code} onChange={(event) => setCode(event.target.value)} />
        )}
      </Form>
    </Card>
  );
}
