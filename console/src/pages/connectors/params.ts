// The parameters of a connector: a JSON object in a string, described by its type.
import { secondsWords } from "~/seconds";
import { t } from "~/messages/connectors";

export type Params = Readonly<Record<string, unknown>>;

export function parseParams(text: string): Params {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Params) : {};
  } catch {
    return {};
  }
}

export function takesSubgroups(params: Params): boolean {
  return params.subgroups === true;
}

// Where it sends to, in one line: `POST https://…`, or a broker and what it is addressed by there.
export function destinationOf(type: string, params: Params): string {
  const text = (name: string) => (typeof params[name] === "string" ? params[name] : "");
  if (type === "http") return `${text("method") || "POST"} ${text("url")}`;
  const broker = Array.isArray(params.brokers) ? params.brokers.join(", ") : text("brokers") || text("url");
  const address = text("topic") || text("subject") || [text("exchange"), text("routingKey")].filter(Boolean).join(" / ");
  return address ? `${broker} · ${address}` : broker;
}

interface RetryPolicy {
  readonly retryDelay?: number | null;
  readonly maxRetry?: number | null;
  readonly delays?: readonly number[] | null;
}

export function retrySentence(policy: RetryPolicy | null | undefined): string {
  if (policy?.delays?.length) return t("n1CountAttemptsAfterValue", { count: policy.delays.length, value: policy.delays.map(secondsWords).join(", ") });
  if (policy?.delays) return "1 attempt";
  if (!policy || policy.maxRetry === null || policy.maxRetry === undefined) return t("n5AttemptsWithin2Hours");
  if (policy.maxRetry === 0) return "1 attempt";
  return t("n1MaxRetryAttemptsSecondsWordsApart", { maxRetry: policy.maxRetry, secondsWords: secondsWords(policy.retryDelay ?? 0) });
}

export function keepsSentence(storingDuration: number | null | undefined): string {
  return storingDuration ? t("keepsDeadLettersStoringDuration", { storingDuration: secondsWords(storingDuration) }) : t("keepsNoDeadLetters");
}
