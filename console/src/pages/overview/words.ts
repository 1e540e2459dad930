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

// `group` is null where it need not be named.
export function attentionWords({ what, name, ...counts }: Attention, group: string | null): AttentionWords {
  const count = counts.count ?? 0;
  const total = counts.total ?? 0;
  switch (what) {
    case "connectorFailing":
      return { tone: "bad", state: t("failing"), title: name ?? t("aConnector"), action: t("Open") };
    case "deadLetters":
      return { tone: "bad", state: t("deadLetters"), title: t("deadLettersOfName", { name: name ?? t("aConnector"), count }), action: t("Open") };
    case "filterFailing":
    case "conditionFailing":
      return { tone: "warn", state: what === "filterFailing" ? t("filter") : t("condition"), title: t("nameNotEvaluated", { name: name ?? t("aFilter"), failed: figure(count), count: total }), action: t("Open") };
    case "devicesSilent":
      return { tone: "warn", state: t("silent"), title: group ? t("devicesInGroup", { count, group }) : t("devices", { count }), action: t("List") };
    case "batteryLow":
      return { tone: "warn", state: t("battery"), title: group ? t("batteryLowInGroup", { count, group }) : t("batteryLow", { count }), action: t("List") };
    case "configurationDrift":
      return { tone: "warn", state: t("drift"), title: group ? t("devicesDriftInGroup", { count, group }) : t("devicesDrift", { count }), action: t("Compare") };
    case "unknownDevices":
      return { tone: "warn", state: t("unknown"), title: group ? t("unknownDevicesInGroup", { count, group }) : t("unknownDevicesReported", { count }), action: t("List") };
    case "rejectedMessages":
      return { tone: "warn", state: t("rejected"), title: group ? t("uplinksRejectedInGroup", { count, group }) : t("uplinksRejected", { count }), action: t("List") };
    default:
      return { tone: "warn", state: what, title: name ?? t("objects", { count }), action: t("Open") };
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
  return t("millions", { millions: (count / 1_000_000).toLocaleString(LOCALE, { maximumSignificantDigits: 3 }) });
}

const BUCKETS: Readonly<Record<number, string>> = {
  1: t("perSecond"),
  10: t("perTenSeconds"),
  60: t("perMinute"),
  300: t("perFiveMinutes"),
  1_800: t("perHalfHour"),
  3_600: t("perHour"),
  21_600: t("perSixHours"),
  86_400: t("perDay"),
};

export function bucketWords(seconds: number): string {
  return BUCKETS[seconds] ?? t("perSeconds", { seconds });
}
