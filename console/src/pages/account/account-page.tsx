import "./account.css";
import { useQuery } from "@tanstack/react-query";
import { sessionQuery, settingsQuery } from "~/api/queries";
import { signOut } from "~/session";
import { Button } from "~/ui/button";
import { PageHeader } from "~/ui/page";
import { Loading, QueryView } from "~/ui/state";
import { hasPasskeys } from "~/pages/sign-in/passkey";
import { SignInChanges } from "./changes";
import { AuthenticatorApp, NameForm, PasswordForm } from "./credentials";
import { Passkeys } from "./passkeys";
import { Appearance } from "./appearance";
import { Sessions } from "./sessions";
import { t } from "~/messages/account";

export function AccountPage() {
  const session = useQuery(sessionQuery);
  const settings = useQuery(settingsQuery);
  return (
    <>
      <PageHeader
        title={t("Account")}
        below={session.data?.user.email ?? ""}
        actions={<Button writes onClick={() => void signOut()}>{t("SignOut")}</Button>}
      />
      <QueryView query={session}>
        {(found) => {
          if (!found) return null;
          // How people sign in decides what stands above the lists.
          if (settings.isLoading && !settings.isFetched) return <Loading />;
          const takesPasswords = settings.data?.signIn.includes("password") ?? false;
          const takesPasskeys = (settings.data?.signIn.includes("passkey") ?? false) && hasPasskeys();
          return (
            <div className="account card-columns">
              {found.issuedBy && (
                <p className="account-note" role="note">
                  {t.rich("SomebodyElseWasShownLinkOf", { code: <code>longwire console link --email {found.user.email}</code> })}
                </p>
              )}
              <div>
                {!found.issuedBy && <NameForm user={found.user} />}
                <Appearance />
                {takesPasskeys && !found.issuedBy && <Passkeys />}
                {!found.issuedBy && <SignInChanges />}
              </div>
              <div>
                {takesPasswords && !found.issuedBy && <PasswordForm session={found} />}
                {takesPasswords && found.hasPassword && !found.issuedBy && <AuthenticatorApp hasTotp={found.hasTotp} />}
                <Sessions />
              </div>
            </div>
          );
        }}
      </QueryView>
    </>
  );
}
