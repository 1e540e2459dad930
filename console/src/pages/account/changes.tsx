// What changed in how its owner signs in: whoever sees something unknown here has to act.
import { useQuery } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { queryClient } from "~/api/queries";
import { Card } from "~/ui/page";
import { QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { t } from "~/messages/account";

const KEY = ["sign-in-changes"];
export const refreshChanges = () => queryClient.invalidateQueries({ queryKey: KEY });

const WORDS: Readonly<Record<Schemas["SignInChange"], string>> = {
  "password.set": t("PasswordSet"),
  "totp.enable": t("AuthenticatorAppTurnedOn"),
  "totp.disable": t("AuthenticatorAppTurnedOff"),
  "passkey.create": t("PasskeyAdded"),
  "passkey.update": t("PasskeyRenamed"),
  "passkey.delete": t("PasskeyDeleted"),
  "signInLink.create": t("SignInLinkShown"),
  "user.bind": t("BoundToIdentityProvider"),
  "user.resetSignIn": t("AllWaysToSignInDeleted"),
};

export function SignInChanges() {
  const query = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => read(api.GET("/user/signInChanges", { signal })),
  });
  return (
    <Card title={t("ChangesOfHowYouSignIn")} note={t("last90Days")}>
      <QueryView query={query} skeletonRows={2}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="ink-2">{t("None")}</p>
          ) : (
            <ul className="account-list">
              {items.map((item) => (
                <li key={`${item.timestamp} ${item.change}`}>
                  <div>
                    <strong>{WORDS[item.change] ?? item.change}</strong> {item.name}
                    <div className="ink-2">
                      {t.rich("timeFromAddress", { time: <TimeText at={item.timestamp} precision="minute" />, address: item.address })}
                      {item.byOther && t("bySomebodyElse")}
                    </div>
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </QueryView>
    </Card>
  );
}
