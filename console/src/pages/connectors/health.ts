// How a connector is: one word with a tone, out of its settings and its health.
import type { Schemas } from "~/api/client";
import type { Tone } from "~/ui/pill";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/connectors";

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
  return count >= COUNTED_MAX ? `${COUNTED_MAX.toLocaleString(LOCALE)}+` : count.toLocaleString(LOCALE);
}

export function stateOf(
  connector: Pick<Schemas["Connector"], "enabled" | "error" | "dataFailurePolicy" | "updatedBy" | "filterFailing">,
  health: Health | undefined,
): ConnectorState {
  const error = connector.error?.message ?? "";
  if (connector.enabled === false) {
    // A receiver that responds 410 has the service disable its connector.
    if (connector.updatedBy === "system") return { code: "stopped", tone: "bad", label: t("stoppedByItsReceiver"), detail: error };
    return { code: "disabled", tone: "idle", label: "disabled", detail: error };
  }
  if (connector.dataFailurePolicy?.resending) return { code: "resending", tone: "warn", label: "resending", detail: error };
  if (!health) return { code: "unknown", tone: "idle", label: t("notKnown"), detail: error };
  if (health.failures === 1) return { code: "lastFailed", tone: "warn", label: t("lastAttemptFailed"), detail: error };
  if (health.failures > 1) return { code: "failing", tone: "bad", label: t("failingFailuresInRow", { failures: health.failures }), detail: error };
  const { filterFailing } = connector;
  if (filterFailing) return { code: "filterFailing", tone: "warn", label: t("filterFailsForFailedOfEvaluated", { failed: filterFailing.failed, evaluated: filterFailing.evaluated }), detail: error };
  if (health.heldBack > 0) return { code: "heldBack", tone: "warn", label: t("holdsHeldBackBack", { heldBack: countText(health.heldBack) }), detail: t("heldBackDeliveriesWaitForEarlierOne", { heldBack: countText(health.heldBack) }) };
  if (health.rateLimited > 0) return { code: "rateLimited", tone: "warn", label: t("atItsRateLimit"), detail: t("rateLimitedDeliveriesWaitForIt", { rateLimited: countText(health.rateLimited) }) };
  if (health.deadLetters > 0) return { code: "deadLetters", tone: "warn", label: t("hasDeadLetters"), detail: error };
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
