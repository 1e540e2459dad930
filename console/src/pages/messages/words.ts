// States, outcomes and reasons of messages in words; the API has codes.
import type { Schemas } from "~/api/client";
import type { Tone } from "~/ui/pill";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/messages";

export type Message = Schemas["Message"];
export type MessageEvent = Schemas["ConnectorEvent"];
export type Attempt = Schemas["MessageAttempt"];
type Stats = NonNullable<Schemas["MessageConnection"]["stats"]>;

const STATUS_WORDS: Readonly<Record<string, readonly [Tone, string]>> = {
  processing: ["idle", "waiting"],
  succeed: ["good", "delivered"],
  failed: ["bad", "failed"],
};

const STATE_WORDS: Readonly<Record<string, readonly [Tone, string]>> = {
  queued: ["idle", "waiting"],
  sending: ["idle", t("beingSent")],
  succeeded: ["good", "delivered"],
  failed: ["bad", t("deadLetter")],
  expired: ["bad", t("failedNoLongerKept")],
  cancelled: ["idle", "cancelled"],
};

export interface Words {
  readonly tone: Tone;
  readonly label: string;
}

export function statusWords(event: Pick<MessageEvent, "status" | "attempts" | "message">): Words {
  const [tone, label] = STATUS_WORDS[event.status ?? ""] ?? ["idle", event.status ?? t("notKnown")];
  const attempts = event.attempts ?? 0;
  // An attempt counts when it begins: the first one has not failed yet.
  if (event.status === "processing" && attempts === 1 && !event.message) return { tone: "idle", label: "sending" };
  if (event.status === "processing" && attempts > 0) return { tone: "warn", label: "retrying" };
  return { tone, label };
}

export function stateWords(state: string, failedAttempts = 0): Words {
  const [tone, label] = STATE_WORDS[state] ?? ["idle", state];
  if (state === "queued" && failedAttempts > 0)
    return { tone: "bad", label: t("failedAttemptsValueFailed", { failedAttempts, value: t("attempts", { count: failedAttempts }) }) };
  return { tone, label };
}

// How many of a range were delivered, failed and wait. Where only some were counted, none is not known.
export function statsWords({ totalSucceed, totalFailed, totalStillProcessing, isMore }: Stats): string {
  const counts = [
    [totalSucceed, "delivered"],
    [totalFailed, "failed"],
    [totalStillProcessing, "waiting"],
  ] as const;
  return counts
    .filter(([count]) => !isMore || count)
    .map(([count, word]) => `${(count ?? 0).toLocaleString(LOCALE)}${isMore ? "+" : ""} ${word}`)
    .join(" · ");
}

// One number for each attempt of all, where the service begins again after each resend.
export function numbersOf(attempts: readonly Pick<Attempt, "number">[]): number[] {
  let before = 0;
  let offset = 0;
  return attempts.map(({ number }) => {
    if (number + offset <= before) offset = before;
    before = number + offset;
    return before;
  });
}

const OUTCOMES: Readonly<Record<string, string>> = {
  delivered: "delivered",
  rejected: "rejected",
  unreachable: t("noConnection"),
  timed_out: t("noResponseWithin15S"),
  egress_denied: t("addressIsNotAllowed"),
  tls_failed: t("TLSFailed"),
  login_rejected: t("loginRejected"),
  limit_exceeded: t("tooLargeOrTooMuchWas"),
  gone: t("goneReceiverAskedForNoMore"),
  recipient_gone: t("recipientNoLongerExists"),
  not_configured: t("notConfigured"),
  invalid_message: t("couldNotBeEncodedInFormat"),
  withdrawn: "withdrawn",
  quota_used_up: t("quotaUsedUp"),
  internal_error: t("internalError"),
  orphaned: t("processThatSentItDied"),
  stopped: t("serviceWasStoppedMeanwhile"),
};

export function outcomeWords(attempt: Pick<Attempt, "outcome" | "status">): string {
  const words = OUTCOMES[attempt.outcome] ?? attempt.outcome;
  if (attempt.status === null || attempt.status === undefined) return words;
  return attempt.outcome === "delivered" ? t("statusStatus", { status: attempt.status }) : t("statusStatusWords", { status: attempt.status, words });
}

export function isDelivered(attempt: Pick<Attempt, "outcome">): boolean {
  return attempt.outcome === "delivered";
}

const NOT_TAKEN: Readonly<Record<string, string>> = {
  disabled: "disabled",
  created_later: t("createdAfterRecordArrived"),
  device_type: t("forwardsOtherDeviceTypes"),
  device_id: t("forwardsOtherDevices"),
  filter_false: t("itsFilterIsFalse"),
  filter_failed: t("itsFilterFailsForThisRecord"),
  not_evaluated: t("itsFilterTakesTooLongTo"),
  matches_now: t("wouldForwardItNowItWas"),
};

export function notTakenWords(code: string): string {
  return NOT_TAKEN[code] ?? code;
}

export function canRetry(state: string): boolean {
  return state === "queued" || state === "failed";
}

export function canCancel(state: string): boolean {
  return state === "queued";
}

const PHASES: Readonly<Record<string, string>> = {
  resolve: t("lookingUpHostName"),
  connect: "connecting",
  proxy: t("connectingThroughProxy"),
  tls: t("TLSHandshake"),
  request: t("waitingForResponse"),
  response: t("receivingResponse"),
  complete: "complete",
};

export function phaseWords(phase: string | null | undefined): string {
  return PHASES[phase ?? ""] ?? phase ?? t("notKnown");
}

// What the text of a body does not say about itself.
export function bodyWords({ isBase64, isCut, size }: Schemas["ExchangeContent"]): string {
  const notes = [isBase64 ? t("inBase64") : "", isCut ? t("beginningOfSizeBytes", { size }) : ""];
  if (size === 0) return t("noBody");
  return notes.filter(Boolean).join(", ");
}
