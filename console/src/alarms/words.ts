// An alarm in words: how bad it is, what it says, and for how long.
import type { Schemas } from "~/api/client";
import { measurementLabel, valueText } from "~/measurements/values";
import { duration, momentOf } from "~/time";
import type { Tone } from "~/ui/pill";
import { t } from "~/messages/alarms";

export type Alarm = Schemas["Alarm"];

export const SEVERITIES = ["critical", "warning", "info"] as const;
export type Severity = (typeof SEVERITIES)[number];
export const SEVERITY_TONES: Readonly<Record<Severity, Tone>> = { critical: "bad", warning: "warn", info: "idle" };

export const ALARM_REASONS: Readonly<Record<string, string>> = {
  measurement: t("valueBeyondItsLimit"),
  deviceSilent: t("deviceSilent"),
  batteryLow: t("batteryLow"),
  configurationDrift: t("configurationDrifts"),
  geofenceEnter: t("insideArea"),
  geofenceExit: t("outsideArea"),
  connectorFailing: t("connectorFailing"),
  messagesFailed: t("deliveriesGivenUp"),
};

// How a measurement is written, as far as its group knows it.
export interface MeasurementWords {
  readonly name: string;
  readonly label?: string | undefined;
  readonly unit?: string | undefined;
  readonly decimals?: number | undefined;
}

export type FindMeasurement = (name: string) => MeasurementWords | undefined;

export function withUnit(value: number, measurement: MeasurementWords | undefined): string {
  const text = valueText(value, measurement?.decimals);
  return measurement?.unit ? `${text} ${measurement.unit}` : text;
}

// "Soil moisture 12 % below 15 %". Without a value there was none, or the reader may see none.
export function alarmWords(alarm: Alarm, find: FindMeasurement, mayReadValues = true): string {
  const { reason, measurement: name, value } = alarm;
  const fallback = ALARM_REASONS[reason] ?? reason;
  if (reason !== "measurement") return fallback;
  const hasNone = value === undefined && mayReadValues;
  if (!name) return hasNone ? t("noValueForTooLong") : (alarm.notificationName ?? fallback);
  const known = find(name) ?? { name };
  const label = measurementLabel(known);
  if (hasNone) return t("labelNoValueForTooLong", { label });
  const limit = alarm.above ?? alarm.below;
  const beyond = limit === undefined ? "" : ` ${alarm.above === undefined ? "below" : "above"} ${withUnit(limit, known)}`;
  return `${label}${value === undefined ? "" : ` ${withUnit(value, known)}`}${beyond}`;
}

// What went further than it began, or nothing.
export function worstWords(alarm: Alarm, find: FindMeasurement): string {
  const { worstValue: worst, measurement: name } = alarm;
  return worst === undefined ? "" : withUnit(worst, name ? find(name) : undefined);
}

export function isOpen(alarm: Alarm): boolean {
  return alarm.state !== "resolved";
}

// What nobody has acknowledged comes first, then what is worst; of those the newest. What is resolved
// follows as it was raised.
export function sortAlarms(alarms: readonly Alarm[]): Alarm[] {
  const rank = (alarm: Alarm) => {
    if (!isOpen(alarm)) return 100;
    return (alarm.state === "acknowledged" ? 10 : 0) + SEVERITIES.indexOf(alarm.severity as Severity);
  };
  return [...alarms].sort((a, b) => rank(a) - rank(b) || Date.parse(b.raisedAt) - Date.parse(a.raisedAt));
}

export function lasted(alarm: Alarm): string {
  const [begin, end] = [momentOf(alarm.raisedAt), momentOf(alarm.resolvedAt)];
  return begin === null || end === null ? "" : duration(Math.max(0, end - begin)).replace(/ 0 (s|min)$/, "");
}
