import { useQuery } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { queryClient } from "~/api/queries";
import { Button } from "~/ui/button";
import { Card } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { showToast } from "~/ui/toast";
import { wordsForError } from "~/pages/sign-in/failures";
import { describeAgent } from "./agent";
import { t } from "~/messages/account";

const KEY = ["sessions"];
const METHODS: Readonly<Record<string, string>> = {
  link: "a link",
  password: "password",
  oidc: "single sign-on",
  passkey: "passkey",
  client: t("clientSecret"),
};

async function end(sessionId: string): Promise<void> {
  try {
    await read(api.DELETE("/session", { params: { query: { sessionId } } }));
    showToast(t("ThatSessionHasEnded"));
  } catch (failure) {
    showToast(wordsForError(failure), { tone: "bad" });
  }
  await queryClient.invalidateQueries({ queryKey: KEY });
}

export function Sessions() {
  const query = useQuery({ queryKey: KEY, queryFn: ({ signal }) => read(api.GET("/sessions", { signal })) });
  return (
    <Card title={t("Sessions")} note={t("whereYouAreSignedIn")}>
      <QueryView query={query} skeletonRows={2}>
        {({ items }) => (
          <ul className="account-list">
            {items.map((session) => (
              <li key={session.sessionId}>
                <div>
                  <strong title={session.userAgent}>{describeAgent(session.userAgent)}</strong> {session.isThis && <Pill tone="good">{t("thisBrowser")}</Pill>}
                  <div className="ink-2">
                    {t.rich("addressByValueLastUsedTime", { address: session.address, value: METHODS[session.method], time: <TimeText at={session.seenAt} precision="minute" /> })}
                  </div>
                </div>
                {!session.isThis && <Button writes onClick={() => void end(session.sessionId)}>{t("End")}</Button>}
              </li>
            ))}
          </ul>
        )}
      </QueryView>
    </Card>
  );
}
