// The parameters of a connector: a JSON object in a string, described by its type.
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

const DAY_S = 86_400;
const HOUR_S = 3_600;

export function seconds(value: number): string {
  if (value % DAY_S === 0 && value >= DAY_S) return `${value / DAY_S} ${value === DAY_S ? "day" : "days"}`;
  if (value % HOUR_S === 0 && value >= HOUR_S) return `${value / HOUR_S} h`;
  if (value % 60 === 0 && value >= 60) return `${value / 60} min`;
  return `${value} s`;
}

interface RetryPolicy {
  readonly retryDelay?: number | null;
  readonly maxRetry?: number | null;
  readonly delays?: readonly number[] | null;
}

export function retrySentence(policy: RetryPolicy | null | undefined): string {
  if (policy?.delays?.length) return `1 + ${policy.delays.length} attempts, after ${policy.delays.map(seconds).join(", ")}`;
  if (policy?.delays) return "1 attempt";
  if (!policy || policy.maxRetry === null || policy.maxRetry === undefined) return "5 attempts within 2 h";
  if (policy.maxRetry === 0) return "1 attempt";
  return `1 + ${policy.maxRetry} attempts, ${seconds(policy.retryDelay ?? 0)} apart`;
}

export function keepsSentence(storingDuration: number | null | undefined): string {
  return storingDuration ? `keeps dead letters ${seconds(storingDuration)}` : "keeps no dead letters";
}
