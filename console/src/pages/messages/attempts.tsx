// Every attempt of a message, and the next one.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { ago, duration, momentOf } from "~/time";
import { Button } from "~/ui/button";
import { hold, showToast } from "~/ui/toast";
import { TimeText, useNow } from "~/ui/time-text";
import { canCancel, canRetry, isDelivered, numbersOf, outcomeWords, type Attempt, type Message } from "./words";
import { t } from "~/messages/messages";
import "./messages.css";

// Attempts in this list; the API keeps the last 20.
const KEPT_MAX = 20;

export function AttemptsTable({ attempts, dueAt, label }: { attempts: readonly Attempt[]; dueAt?: string | null | undefined; label: string }) {
  if (attempts.length === 0 && !dueAt) return null;
  const numbers = numbersOf(attempts);
  return (
    <table className="plain attempts" aria-label={label}>
      <thead className="visually-hidden">
        <tr>
          <th>{t("Attempt")}</th>
          <th>{t("Time")}</th>
          <th>{t("Outcome")}</th>
          <th>{t("Duration")}</th>
        </tr>
      </thead>
      <tbody>
        {attempts.length >= KEPT_MAX && (
          <tr>
            <td colSpan={4} className="ink-2">
              {t("lastKEPTMAXAttemptsEarlierOnes", { KEPT_MAX })}
            </td>
          </tr>
        )}
        {attempts.map((attempt, index) => (
          <tr key={index}>
            <td className="number">{numbers[index]}</td>
            <td>
              <TimeText at={attempt.timestamp} precision="recent" />
            </td>
            <td className={isDelivered(attempt) ? undefined : "attempt-failed"}>{outcomeWords(attempt)}</td>
            <td className="number cell-end">{duration(attempt.durationMs)}</td>
          </tr>
        ))}
        {dueAt && (
          <tr className="ink-2">
            <td className="number">{(numbers[numbers.length - 1] ?? 0) + 1}</td>
            <td>
              <TimeText at={dueAt} precision="recent" />
            </td>
            <td>
              <NextAttempt dueAt={dueAt} />
            </td>
            <td />
          </tr>
        )}
      </tbody>
    </table>
  );
}

function NextAttempt({ dueAt }: { dueAt: string }) {
  const now = useNow();
  const moment = momentOf(dueAt) ?? now;
  return <>{moment > now ? t("waitsMoment", { moment: ago(moment, now) }) : t("dueNow")}</>;
}

export function useRefreshMessages() {
  const client = useQueryClient();
  return () => {
    for (const key of ["trace", "message", "messages", "connector-health", "connector"]) void client.invalidateQueries({ queryKey: [key] });
  };
}

export function MessageActions({ message }: { message: Message }) {
  const mayRetry = useMay(message.groupId, "POST /connector/messages/retry");
  const refresh = useRefreshMessages();
  const id = message.event.id ?? "";
  const body = { groupId: message.groupId, ids: [id] };
  const retry = useMutation({
    mutationFn: () => read(api.POST("/connector/messages/retry", { body })),
    onSuccess: (done) => {
      showToast(done.changed ? t("attemptIsInProgress") : t("ItIsBeingSentAlreadyOr"));
      refresh();
    },
    onError: (error) => showToast(error.message, { tone: "bad" }),
  });
  if (!mayRetry) return null;
  return (
    <>
      {canRetry(message.state) && (
        <Button writes onClick={() => retry.mutate()} disabled={retry.isPending}>
          {t("RetryNow")}
        </Button>
      )}
      {canCancel(message.state) && (
        <Button
          writes
          look="quiet"
          onClick={() =>
            hold(t("ThisDeliveryWillNotBeSent"), async () => {
              await read(api.POST("/connector/messages/cancel", { body }));
              refresh();
            })
          }
        >
          {t("Cancel")}
        </Button>
      )}
    </>
  );
}
