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

const KEY = ["sessions"];
const METHODS: Readonly<Record<string, string>> = {
  link: "a link",
  password: "password",
  oidc: "single sign-on",
  passkey: "passkey",
  client: "client secret",
};

async function end(sessionId: string): Promise<void> {
  try {
    await read(api.DELETE("/session", { params: { query: { sessionId } } }));
    showToast("That session has ended.");
  } catch (failure) {
    showToast(wordsForError(failure), { tone: "bad" });
  }
  await queryClient.invalidateQueries({ queryKey: KEY });
}

export function Sessions() {
  const query = useQuery({ queryKey: KEY, queryFn: ({ signal }) => read(api.GET("/sessions", { signal })) });
  return (
    <Card title="Sessions" note="where you are signed in">
      <QueryView query={query} skeletonRows={2}>
        {({ items }) => (
          <ul className="account-list">
            {items.map((session) => (
              <li key={session.sessionId}>
                <div>
                  <strong title={session.userAgent}>{describeAgent(session.userAgent)}</strong> {session.isThis && <Pill tone="good">this browser</Pill>}
                  <div className="ink-2">
                    {session.address}, by {METHODS[session.method]}, last used <TimeText at={session.seenAt} precision="minute" />
                  </div>
                </div>
                {!session.isThis && <Button writes onClick={() => void end(session.sessionId)}>End</Button>}
              </li>
            ))}
          </ul>
        )}
      </QueryView>
    </Card>
  );
}
