// What changed in how its owner signs in: whoever sees something unknown here has to act.
import { useQuery } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { queryClient } from "~/api/queries";
import { Card } from "~/ui/page";
import { QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";

const KEY = ["sign-in-changes"];
export const refreshChanges = () => queryClient.invalidateQueries({ queryKey: KEY });

const WORDS: Readonly<Record<Schemas["SignInChange"], string>> = {
  "password.set": "Password set",
  "totp.enable": "Authenticator app turned on",
  "totp.disable": "Authenticator app turned off",
  "passkey.create": "Passkey added",
  "passkey.update": "Passkey renamed",
  "passkey.delete": "Passkey deleted",
  "signInLink.create": "Sign-in link shown",
  "user.bind": "Bound to the identity provider",
  "user.resetSignIn": "All ways to sign in deleted by the operator",
};

export function SignInChanges() {
  const query = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => read(api.GET("/user/signInChanges", { signal })),
  });
  return (
    <Card title="Changes of how you sign in" note="last 90 days">
      <QueryView query={query} skeletonRows={2}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="ink-2">None.</p>
          ) : (
            <ul className="account-list">
              {items.map((item) => (
                <li key={`${item.timestamp} ${item.change}`}>
                  <div>
                    <strong>{WORDS[item.change] ?? item.change}</strong> {item.name}
                    <div className="ink-2">
                      <TimeText at={item.timestamp} precision="minute" /> from {item.address}
                      {item.byOther && ", by somebody else"}
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
