// States, outcomes and reasons of messages in words; the API has codes.
import type { Schemas } from "~/api/client";
import type { Tone } from "~/ui/pill";

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
  sending: ["idle", "being sent"],
  succeeded: ["good", "delivered"],
  failed: ["bad", "dead letter"],
  expired: ["bad", "failed, no longer kept"],
  cancelled: ["idle", "cancelled"],
};

export interface Words {
  readonly tone: Tone;
  readonly label: string;
}

export function statusWords(event: Pick<MessageEvent, "status" | "attempts" | "message">): Words {
  const [tone, label] = STATUS_WORDS[event.status ?? ""] ?? ["idle", event.status ?? "not known"];
  const attempts = event.attempts ?? 0;
  // An attempt counts when it begins: the first one has not failed yet.
  if (event.status === "processing" && attempts === 1 && !event.message) return { tone: "idle", label: "sending" };
  if (event.status === "processing" && attempts > 0) return { tone: "warn", label: "retrying" };
  return { tone, label };
}

export function stateWords(state: string, failedAttempts = 0): Words {
  const [tone, label] = STATE_WORDS[state] ?? ["idle", state];
  if (state === "queued" && failedAttempts > 0)
    return { tone: "bad", label: `${failedAttempts} ${failedAttempts === 1 ? "attempt" : "attempts"} failed` };
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
    .map(([count, word]) => `${(count ?? 0).toLocaleString("en")}${isMore ? "+" : ""} ${word}`)
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
  unreachable: "no connection",
  timed_out: "no response within 15 s",
  egress_denied: "the address is not allowed",
  tls_failed: "TLS failed",
  login_rejected: "login rejected",
  limit_exceeded: "too large, or too much was sent back",
  gone: "gone: the receiver asked for no more",
  recipient_gone: "the recipient no longer exists",
  not_configured: "not configured",
  invalid_message: "could not be encoded in the format",
  withdrawn: "withdrawn",
  quota_used_up: "quota used up",
  internal_error: "internal error",
  orphaned: "the process that sent it died",
  stopped: "the service was stopped meanwhile",
};

export function outcomeWords(attempt: Pick<Attempt, "outcome" | "status">): string {
  const words = OUTCOMES[attempt.outcome] ?? attempt.outcome;
  if (attempt.status === null || attempt.status === undefined) return words;
  return attempt.outcome === "delivered" ? `status ${attempt.status}` : `status ${attempt.status}, ${words}`;
}

export function isDelivered(attempt: Pick<Attempt, "outcome">): boolean {
  return attempt.outcome === "delivered";
}

const NOT_TAKEN: Readonly<Record<string, string>> = {
  disabled: "disabled",
  created_later: "created after the record arrived",
  device_type: "forwards other device types",
  device_id: "forwards other devices",
  filter_false: "its filter is false",
  filter_failed: "its filter fails for this record",
  not_evaluated: "its filter takes too long to say here",
  matches_now: "would forward it now; it was changed since, or the delivery is no longer stored",
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
  resolve: "looking up the host name",
  connect: "connecting",
  proxy: "connecting through the proxy",
  tls: "TLS handshake",
  request: "waiting for a response",
  response: "receiving the response",
  complete: "complete",
};

export function phaseWords(phase: string | null | undefined): string {
  return PHASES[phase ?? ""] ?? phase ?? "not known";
}

// What the text of a body does not say about itself.
export function bodyWords({ isBase64, isCut, size }: Schemas["ExchangeContent"]): string {
  const notes = [isBase64 ? "in base64" : "", isCut ? `the beginning of ${size.toLocaleString("en")} bytes` : ""];
  if (size === 0) return "no body";
  return notes.filter(Boolean).join(", ");
}
