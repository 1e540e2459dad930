// Figures and sentences of the overview.
import type { Schemas } from "~/api/client";
import type { Tone } from "~/ui/pill";

export type Attention = Schemas["Attention"];

export interface AttentionWords {
  readonly tone: Tone;
  readonly state: string;
  readonly title: string;
  readonly action: string;
}

function counted(count: number | null | undefined, one: string, many: string): string {
  if (count === null || count === undefined) return many;
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

export function attentionWords({ what, name, count, total }: Attention, groupName: string | null): AttentionWords {
  const inGroup = groupName ? ` in ${groupName}` : "";
  switch (what) {
    case "connectorFailing":
      return { tone: "bad", state: "failing", title: name ?? "A connector", action: "Open" };
    case "deadLetters":
      return { tone: "bad", state: "dead letters", title: `${name ?? "A connector"}: ${counted(count, "delivery", "deliveries")} kept for a resend`, action: "Open" };
    case "filterFailing":
    case "conditionFailing":
      return { tone: "warn", state: what === "filterFailing" ? "filter" : "condition", title: `${name ?? "A filter"}: not evaluated for ${figure(count ?? 0)} of ${counted(total, "record", "records")}`, action: "Open" };
    case "devicesSilent":
      return { tone: "warn", state: "silent", title: `${counted(count, "device", "devices")}${inGroup}`, action: "List" };
    case "batteryLow":
      return { tone: "warn", state: "battery", title: `${counted(count, "device", "devices")}${inGroup} below 20 %`, action: "List" };
    case "configurationDrift":
      return { tone: "warn", state: "drift", title: `${counted(count, "device reports", "devices report")} another configuration${inGroup}`, action: "Compare" };
    case "unknownDevices":
      return { tone: "warn", state: "unknown", title: `${counted(count, "unknown device", "unknown devices")} reported${inGroup}`, action: "List" };
    case "rejectedMessages":
      return { tone: "warn", state: "rejected", title: `Uplinks of ${counted(count, "device", "devices")}${inGroup} could not be read`, action: "List" };
    default:
      return { tone: "warn", state: what, title: name ?? counted(count, "object", "objects"), action: "Open" };
  }
}

// "+3 % on the day before": null when there is nothing to compare with.
export function changeOf(now: number, before: number): string | null {
  if (before === 0) return null;
  const percent = Math.round((now / before - 1) * 100);
  const sign = percent > 0 ? "+" : percent < 0 ? "−" : "±";
  return `${sign}${Math.abs(percent).toLocaleString("en")} %`;
}

// Never rounded up to 100 as long as something failed.
export function deliveredPercent(succeeded: number, failed: number): string | null {
  const total = succeeded + failed;
  if (total === 0) return null;
  const percent = Math.floor((succeeded / total) * 10_000) / 100;
  return `${percent.toLocaleString("en", { maximumFractionDigits: 2 })} %`;
}

export function figure(count: number): string {
  if (count < 1_000_000) return count.toLocaleString("en");
  return `${(count / 1_000_000).toLocaleString("en", { maximumSignificantDigits: 3 })} M`;
}

const BUCKETS: Readonly<Record<number, string>> = {
  1: "second",
  10: "10 seconds",
  60: "minute",
  300: "5 minutes",
  1_800: "half hour",
  3_600: "hour",
  21_600: "6 hours",
  86_400: "day",
};

export function bucketWords(seconds: number): string {
  return `per ${BUCKETS[seconds] ?? `${seconds} s`}`;
}
