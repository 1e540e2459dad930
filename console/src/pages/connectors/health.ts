// How a connector is: one word with a tone, out of its settings and its health.
import type { Schemas } from "~/api/client";
import type { Tone } from "~/ui/pill";

export type Health = Schemas["ConnectorHealth"];
type Metric = Schemas["ConnectorMetric"];

export const COUNTED_MAX = 10_000;

export type StateCode =
  | "stopped"
  | "disabled"
  | "resending"
  | "unknown"
  | "lastFailed"
  | "failing"
  | "filterFailing"
  | "rateLimited"
  | "heldBack"
  | "deadLetters"
  | "forwarding";

export interface ConnectorState {
  readonly code: StateCode;
  readonly tone: Tone;
  readonly label: string;
  readonly detail: string;
}

export function countText(count: number): string {
  return count >= COUNTED_MAX ? `${COUNTED_MAX.toLocaleString("en")}+` : count.toLocaleString("en");
}

export function stateOf(
  connector: Pick<Schemas["Connector"], "enabled" | "error" | "dataFailurePolicy" | "updatedBy" | "filterFailing">,
  health: Health | undefined,
): ConnectorState {
  const error = connector.error?.message ?? "";
  if (connector.enabled === false) {
    // A receiver that responds 410 has the service disable its connector.
    if (connector.updatedBy === "system") return { code: "stopped", tone: "bad", label: "stopped by its receiver", detail: error };
    return { code: "disabled", tone: "idle", label: "disabled", detail: error };
  }
  if (connector.dataFailurePolicy?.resending) return { code: "resending", tone: "warn", label: "resending", detail: error };
  if (!health) return { code: "unknown", tone: "idle", label: "not known", detail: error };
  if (health.failures === 1) return { code: "lastFailed", tone: "warn", label: "last attempt failed", detail: error };
  if (health.failures > 1) return { code: "failing", tone: "bad", label: `failing, ${health.failures.toLocaleString("en")} in a row`, detail: error };
  const { filterFailing } = connector;
  if (filterFailing) return { code: "filterFailing", tone: "warn", label: `filter fails for ${filterFailing.failed} of ${filterFailing.evaluated}`, detail: error };
  if (health.heldBack > 0) return { code: "heldBack", tone: "warn", label: `holds ${countText(health.heldBack)} back`, detail: `${countText(health.heldBack)} deliveries wait for an earlier one of their device` };
  if (health.rateLimited > 0) return { code: "rateLimited", tone: "warn", label: "at its rate limit", detail: `${countText(health.rateLimited)} deliveries wait for it` };
  if (health.deadLetters > 0) return { code: "deadLetters", tone: "warn", label: "has dead letters", detail: error };
  return { code: "forwarding", tone: "good", label: "forwarding", detail: "" };
}

export interface Totals {
  readonly made: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly retried: number;
  // Of those that ended, 0 to 1; null if none ended.
  readonly delivered: number | null;
  // Attempts for each message that ended; null if none ended.
  readonly attemptsPerMessage: number | null;
}

export function totalsOf(items: readonly Metric[]): Totals {
  const sum = (name: "made" | "succeeded" | "failed" | "retried") => items.reduce((total, item) => total + (item[name] ?? 0), 0);
  const totals = { made: sum("made"), succeeded: sum("succeeded"), failed: sum("failed"), retried: sum("retried") };
  const ended = totals.succeeded + totals.failed;
  return {
    ...totals,
    delivered: ended ? totals.succeeded / ended : null,
    attemptsPerMessage: ended ? (ended + totals.retried) / ended : null,
  };
}

// 99.95 % is not 100 %: only what has no failure is rounded up.
export function percent(share: number | null): string {
  if (share === null) return "–";
  if (share === 1) return "100 %";
  return `${(Math.floor(share * 10_000) / 100).toFixed(share > 0.99 ? 2 : 1)} %`;
}
