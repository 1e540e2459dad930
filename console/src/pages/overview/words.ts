// Figures and sentences of the overview.
import type { Schemas } from "~/api/client";
import type { Tone } from "~/ui/pill";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/overview";

export type Attention = Schemas["Attention"];

export interface AttentionWords {
  readonly tone: Tone;
  readonly state: string;
  readonly title: string;
  readonly action: string;
}

function counted(count: number | null | undefined, one: string, many: string): string {
  if (count === null || count === undefined) return many;
  return `${count.toLocaleString(LOCALE)} ${count === 1 ? one : many}`;
}

export function attentionWords({ what, name, count, total }: Attention, groupName: string | null): AttentionWords {
  const inGroup = groupName ? ` ${t("inGroupName", { groupName })}` : "";
  switch (what) {
    case "connectorFailing":
      return { tone: "bad", state: "failing", title: name ?? "A connector", action: t("Open") };
    case "deadLetters":
      return { tone: "bad", state: t("deadLetters"), title: t("nameCountKeptForResend", { name: name ?? "A connector", count: counted(count, "delivery", "deliveries") }), action: t("Open") };
    case "filterFailing":
    case "conditionFailing":
      return { tone: "warn", state: what === "filterFailing" ? "filter" : "condition", title: t("nameNotEvaluatedForFigureOf", { name: name ?? "A filter", figure: figure(count ?? 0), total: counted(total, "record", "records") }), action: t("Open") };
    case "devicesSilent":
      return { tone: "warn", state: "silent", title: `${counted(count, "device", "devices")}${inGroup}`, action: t("List") };
    case "batteryLow":
      return { tone: "warn", state: "battery", title: t("countInGroupBelow20", { count: counted(count, "device", "devices"), inGroup }), action: t("List") };
    case "configurationDrift":
      return { tone: "warn", state: "drift", title: t("countAnotherConfigurationInGroup", { count: counted(count, t("deviceReports"), t("devicesReport")), inGroup }), action: t("Compare") };
    case "unknownDevices":
      return { tone: "warn", state: "unknown", title: t("countReportedInGroup", { count: counted(count, t("unknownDevice"), t("unknownDevices")), inGroup }), action: t("List") };
    case "rejectedMessages":
      return { tone: "warn", state: "rejected", title: t("UplinksOfCountInGroupCouldNot", { count: counted(count, "device", "devices"), inGroup }), action: t("List") };
    default:
      return { tone: "warn", state: what, title: name ?? counted(count, "object", "objects"), action: t("Open") };
  }
}

// "+3 % on the day before": null when there is nothing to compare with.
export function changeOf(now: number, before: number): string | null {
  if (before === 0) return null;
  const percent = Math.round((now / before - 1) * 100);
  const sign = percent > 0 ? "+" : percent < 0 ? "−" : "±";
  return `${sign}${Math.abs(percent).toLocaleString(LOCALE)} %`;
}

// Never rounded up to 100 as long as something failed.
export function deliveredPercent(succeeded: number, failed: number): string | null {
  const total = succeeded + failed;
  if (total === 0) return null;
  const percent = Math.floor((succeeded / total) * 10_000) / 100;
  return `${percent.toLocaleString(LOCALE, { maximumFractionDigits: 2 })} %`;
}

export function figure(count: number): string {
  if (count < 1_000_000) return count.toLocaleString(LOCALE);
  return `${(count / 1_000_000).toLocaleString(LOCALE, { maximumSignificantDigits: 3 })} M`;
}

const BUCKETS: Readonly<Record<number, string>> = {
  1: "second",
  10: "10 seconds",
  60: "minute",
  300: "5 minutes",
  1_800: t("halfHour"),
  3_600: "hour",
  21_600: "6 hours",
  86_400: "day",
};

export function bucketWords(seconds: number): string {
  return t("perValue", { value: BUCKETS[seconds] ?? `${seconds} s` });
}
