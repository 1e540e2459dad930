// A report in words: what is in it, when it is sent, to whom, and what became of it.
import { ALARM_REASONS, type FindMeasurement } from "~/alarms/words";
import { measurementLabel } from "~/measurements/values";
import type { Tone } from "~/ui/pill";
import type { Report } from "./queries";
import { t } from "~/messages/reports";

type Run = NonNullable<Report["lastRun"]>;

export const KIND_WORDS: Readonly<Record<string, string>> = { data: t("Data"), event: t("Events"), geoloc: t("Geolocations"), telemetry: t("Telemetry") };
export const SEEN_WORDS: Readonly<Record<string, string>> = {
  hour: "within an hour",
  day: "within a day",
  week: t("withinWeek"),
  longer: t("longerAgo"),
  never: "never",
  silent: t("silentByWhatIsExpectedOf"),
};
export const OF_WORDS: Readonly<Record<string, string>> = {
  mean: "mean",
  min: "smallest",
  max: "largest",
  first: "first",
  last: "last",
  sum: "sum",
  count: t("countOfValues"),
  increase: "increase",
};
export const COMBINE_WORDS: Readonly<Record<string, string>> = {
  none: t("eachDeviceByItself"),
  sum: t("sumOfDevices"),
  mean: t("meanOfDevices"),
  min: t("smallestOfDevices"),
  max: t("largestOfDevices"),
  count: t("numberOfDevices"),
  percentile: t("percentileOfDevices"),
};
export const SPAN_WORDS: Readonly<Record<string, string>> = { hour: "by the hour", day: "by the day", week: t("byWeek"), month: "by the month" };
export const STATE_WORDS: Readonly<Record<string, string>> = { open: t("stillOpen"), resolved: t("resolvedByThen") };
export const FORMAT_WORDS: Readonly<Record<Report["format"], string>> = { csv: "CSV", xlsx: "XLSX" };

function countOf(value: unknown): number {
  return Array.isArray(value) ? value.length : value ? 1 : 0;
}

function ofDevices(ids: unknown): string {
  const count = countOf(ids);
  return count === 0 ? "" : t("countDevices", { count });
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

// By default by the hour, or for a month by the day.
export function spanOfSeries(every: Report["every"], span: string): string {
  return SPAN_WORDS[span || (every === "month" ? "day" : "hour")] ?? span;
}

// What is in it, in one line: "Temperature, each device by itself, by the hour".
export function contentWords({ content, parameters, every }: Pick<Report, "content" | "parameters" | "every">, find: FindMeasurement): string {
  const given = (name: string) => textOf(parameters[name]);
  const type = given("type");
  const tags = [parameters.tags, parameters.tag].flat().filter(Boolean).map(String);
  const chosen = [type && t("ofTypeType", { type }), tags.length > 0 && t("taggedValue", { value: tags.join(", ") }), ofDevices(parameters.deviceId), parameters.subgroups === true && t("withGroupsBelow")];
  if (content === "records") return parts([KIND_WORDS[given("kind") || "data"] ?? given("kind"), ...chosen]);
  if (content === "devices") {
    const seen = given("seen");
    const battery = parameters.batteryBelow;
    return parts([t("Devices"), ...chosen, given("q") && t("likeGiven", { given: given("q") }), seen && t("lastSeenValue", { value: SEEN_WORDS[seen] ?? seen }), typeof battery === "number" && t("batteryBelowBattery", { battery })]);
  }
  if (content === "alarms") {
    const [severity, reason, state] = [given("severity"), given("reason"), given("state")];
    return parts([severity ? t("AlarmsSeverity", { severity }) : t("Alarms"), reason && (ALARM_REASONS[reason] ?? reason), STATE_WORDS[state], ...chosen]);
  }
  const name = given("measurement");
  const combine = given("combine");
  return parts([
    measurementLabel(find(name) ?? { name }),
    OF_WORDS[given("of")],
    combine && (combine === "percentile" ? t("percentilePercentileOfDevices", { percentile: String(parameters.percentile) }) : (COMBINE_WORDS[combine] ?? combine)),
    spanOfSeries(every, given("calendarSpan")),
    ...chosen,
  ]);
}

function parts(given: readonly (string | false | undefined)[]): string {
  return given.filter(Boolean).join(", ");
}

const DAY_WORDS: Readonly<Record<Report["every"], string>> = { day: "Every day", week: t("EveryMonday"), month: "On the first of the month" };
const ABOUT_WORDS: Readonly<Record<Report["every"], string>> = {
  day: "about the day before",
  week: t("aboutWeekBeforeFromMondayTo"),
  month: "about the month before",
};

export function whenWords({ every, at }: Pick<Report, "every" | "at">): string {
  return t("valueAtAt", { value: DAY_WORDS[every], at });
}

// A list of devices is about no time but its own.
export function aboutWords({ every, content }: Pick<Report, "every" | "content">): string {
  return content === "devices" ? t("asTheyAreThen") : ABOUT_WORDS[every];
}

export function recipientWords({ type, params }: Report["to"]): string {
  if (type === "email") return Array.isArray(params.to) ? params.to.join(", ") : "";
  return textOf(params.url);
}

export function runTone(run: Pick<Run, "state" | "error">): Tone {
  if (run.state === "sent") return "good";
  if (run.state === "queued") return run.error ? "warn" : "idle";
  return "bad";
}

export function runWords({ state, error, recipients, failed }: Pick<Run, "state" | "error" | "recipients" | "failed">): string {
  if (state === "queued") return error ? t("toBeTriedAgain") : t("onItsWay");
  if (state === "failed" && recipients > 0) return failed === recipients ? t("notDelivered") : t("notDeliveredToFailedOfRecipients", { failed, recipients });
  return state === "failed" ? t("notMade") : state;
}

export const STOPPED_MEANS = t("WhoeverItWasReadForMay");
