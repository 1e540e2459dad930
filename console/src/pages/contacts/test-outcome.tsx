// A test of a contact point, and what became of it at each who would be notified now.
import { useMutation, useQueries } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { fetchNewest } from "~/api/queries";
import { Button } from "~/ui/button";
import { Card } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { showToast } from "~/ui/toast";
import { ROTA } from "./form";
import { contactPointQuery, useContactPoints, type ContactPoint } from "./queries";
import { t } from "~/messages/contacts";

const POLL_MS = 1_000;

// How each was before the test: what differs from that is its outcome.
type Before = Readonly<Record<string, Pick<ContactPoint, "groupId" | "lastSentAt" | "error">>>;

export interface ContactPointTest {
  contactPointId: string;
  groupId: string;
  before: Before;
  queued: number;
}

function outcomeOf(before: Before[string], now: ContactPoint | undefined): "sent" | "failed" | null {
  if (now?.lastSentAt && now.lastSentAt !== before.lastSentAt) return "sent";
  return now?.error?.at && now.error.at !== before.error?.at ? "failed" : null;
}

export function TestButton({ contact, onTest }: { contact: ContactPoint; onTest: (test: ContactPointTest | null) => void }) {
  const { all } = useContactPoints(contact.groupId);
  const { groupId, id: contactPointId } = contact;
  const run = useMutation({
    mutationFn: async (): Promise<ContactPointTest> => {
      const newest = await fetchNewest(contactPointQuery(groupId, contactPointId));
      const ids = newest.type === ROTA ? (newest.onCall ?? []) : [contactPointId];
      // Of those that a group above shares, what became of it is for that group to see.
      const seen = ids.flatMap((id) => (id === contactPointId ? [newest] : all.filter((each) => each.id === id && each.params)));
      const stored = await Promise.all(seen.map((each) => fetchNewest(contactPointQuery(each.groupId, each.id))));
      const { queued } = await read(api.POST("/contactPoint/test", { body: { groupId, contactPointId } }));
      return { contactPointId, groupId, before: Object.fromEntries(stored.map((each) => [each.id, each])), queued };
    },
    onMutate: () => onTest(null),
    onSuccess: onTest,
    onError: (error) => void showToast(error.message, { tone: "bad" }),
  });
  return (
    <Button writes onClick={() => run.mutate()} disabled={run.isPending} title={t("ToAllWhoWouldBeNotified")}>
      {t("Test")}
    </Button>
  );
}

export function TestOutcome({ test }: { test: ContactPointTest }) {
  const { nameOf } = useContactPoints(test.groupId);
  const members = Object.entries(test.before);
  const found = useQueries({
    queries: members.map(([id, before]) => ({
      ...contactPointQuery(before.groupId, id),
      refetchInterval: ({ state }: { state: { data: ContactPoint | undefined } }) => (outcomeOf(before, state.data) === "sent" ? false : POLL_MS),
    })),
  });
  if (test.queued === 0) return <Card title={t("Test")}>{t("ThereAreNoRecipientsNothingWas")}</Card>;
  return (
    <Card title={t("Test")}>
      <p>{t("countTestsAreOnTheirWay", { count: test.queued })}</p>
      <ul className="test-outcome">
        {members.map(([id, before], index) => {
          const now = found[index]?.data;
          const outcome = outcomeOf(before, now);
          return (
            <li key={id}>
              {nameOf(id)} <Pill tone={outcome === "sent" ? "good" : outcome === "failed" ? "bad" : "idle"}>{outcome === "failed" ? (now?.error?.message ?? "failed") : (outcome ?? "waiting")}</Pill>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
