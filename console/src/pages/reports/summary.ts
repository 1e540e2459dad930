// A report in words: what is in it, when it is sent, to whom, and what became of it.
import { ALARM_REASONS, type FindMeasurement } from "~/alarms/words";
import { measurementLabel } from "~/measurements/values";
import type { Tone } from "~/ui/pill";
import type { Report } from "./queries";

type Run = NonNullable<Report["lastRun"]>;

export const KIND_WORDS: Readonly<Record<string, string>> = { data: "Data", event: "Events", geoloc: "Geolocations", telemetry: "Telemetry" };
export const SEEN_WORDS: Readonly<Record<string, string>> = {
  hour: "within an hour",
  day: "within a day",
  week: "within a week",
  longer: "longer ago",
  never: "never",
  silent: "silent, by what is expected of them",
};
export const OF_WORDS: Readonly<Record<string, string>> = {
  mean: "mean",
  min: "smallest",
  max: "largest",
  first: "first",
  last: "last",
  sum: "sum",
  count: "count of values",
  increase: "increase",
};
export const COMBINE_WORDS: Readonly<Record<string, string>> = {
  none: "each device by itself",
  sum: "sum of the devices",
  mean: "mean of the devices",
  min: "smallest of the devices",
  max: "largest of the devices",
  count: "number of devices",
  percentile: "a percentile of the devices",
};
export const SPAN_WORDS: Readonly<Record<string, string>> = { hour: "by the hour", day: "by the day", week: "by the week", month: "by the month" };
export const STATE_WORDS: Readonly<Record<string, string>> = { open: "still open", resolved: "resolved by then" };
export const FORMAT_WORDS: Readonly<Record<Report["format"], string>> = { csv: "CSV", xlsx: "XLSX" };

function countOf(value: unknown): number {
  return Array.isArray(value) ? value.length : value ? 1 : 0;
}

function ofDevices(ids: unknown): string {
  const count = countOf(ids);
  return count === 0 ? "" : count === 1 ? "one device" : `${count} devices`;
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
  const chosen = [type && `of type ${type}`, tags.length > 0 && `tagged ${tags.join(", ")}`, ofDevices(parameters.deviceId), parameters.subgroups === true && "with groups below"];
  if (content === "records") return parts([KIND_WORDS[given("kind") || "data"] ?? given("kind"), ...chosen]);
  if (content === "devices") {
    const seen = given("seen");
    const battery = parameters.batteryBelow;
    return parts(["Devices", ...chosen, given("q") && `like “${given("q")}”`, seen && `last seen ${SEEN_WORDS[seen] ?? seen}`, typeof battery === "number" && `battery below ${battery} %`]);
  }
  if (content === "alarms") {
    const [severity, reason, state] = [given("severity"), given("reason"), given("state")];
    return parts([severity ? `Alarms: ${severity}` : "Alarms", reason && (ALARM_REASONS[reason] ?? reason), STATE_WORDS[state], ...chosen]);
  }
  const name = given("measurement");
  const combine = given("combine");
  return parts([
    measurementLabel(find(name) ?? { name }),
    OF_WORDS[given("of")],
    combine && (combine === "percentile" ? `percentile ${String(parameters.percentile)} of the devices` : (COMBINE_WORDS[combine] ?? combine)),
    spanOfSeries(every, given("calendarSpan")),
    ...chosen,
  ]);
}

function parts(given: readonly (string | false | undefined)[]): string {
  return given.filter(Boolean).join(", ");
}

const DAY_WORDS: Readonly<Record<Report["every"], string>> = { day: "Every day", week: "Every Monday", month: "On the first of the month" };
const ABOUT_WORDS: Readonly<Record<Report["every"], string>> = {
  day: "about the day before",
  week: "about the week before, from Monday to Sunday",
  month: "about the month before",
};

export function whenWords({ every, at }: Pick<Report, "every" | "at">): string {
  return `${DAY_WORDS[every]} at ${at}`;
}

// A list of devices is about no time but its own.
export function aboutWords({ every, content }: Pick<Report, "every" | "content">): string {
  return content === "devices" ? "as they are then" : ABOUT_WORDS[every];
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
  if (state === "queued") return error ? "to be tried again" : "on its way";
  if (state === "failed" && recipients > 0) return failed === recipients ? "not delivered" : `not delivered to ${failed} of ${recipients}`;
  return state === "failed" ? "not made" : state;
}

export const STOPPED_MEANS = "Whoever it was read for may not read this any more. Enable it to take it over: from then on it is read with your permissions.";
