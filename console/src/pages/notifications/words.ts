// A notification in words: why it fires, whom it reaches, and when it may.
import type { Schemas } from "~/api/client";
import type { Params } from "~/pages/connectors/params";
import { secondsWords } from "~/seconds";
import type { MeasurementWords } from "~/alarms/words";
import { conditionWords } from "./condition";

export interface ReasonChoice {
  readonly reason: string;
  readonly label: string;
  readonly hint: string;
}

// Those that the service raises itself.
export const ALERTS: readonly ReasonChoice[] = [
  { reason: "measurement", label: "A value is too high or too low", hint: "Sent when it has been so for a time that you set, and when it is back to normal." },
  { reason: "deviceSilent", label: "A device is silent", hint: "Sent when it has not reported for a time that you set, and when it reports again." },
  { reason: "batteryLow", label: "A battery is low", hint: "Sent when the charge falls below a limit, and when it has recovered." },
  { reason: "geofenceEnter", label: "A device enters an area", hint: "From its second position on; the first one only says where it is." },
  { reason: "geofenceExit", label: "A device leaves an area", hint: "From its second position on; the first one only says where it is." },
  { reason: "configurationDrift", label: "A configuration drifts", hint: "Sent when a device reports another configuration than it should have." },
  { reason: "connectorFailing", label: "A connector is failing", hint: "Sent after a number of failures in a row, or when its receiver is gone." },
  { reason: "messagesFailed", label: "A connector gives up deliveries", hint: "Sent once, until they are resent or somebody acknowledges the alarm." },
  { reason: "connectorRecovered", label: "A connector has recovered", hint: "Sent when a delivery succeeds again." },
];

export function isAlert(reason: string): boolean {
  return ALERTS.some((each) => each.reason === reason);
}

// Whether it is something that lasts, and then is resolved.
export function hasAlarms(reason: string): boolean {
  return isAlert(reason) && reason !== "connectorRecovered";
}

export function usesArea(reason: string): boolean {
  return reason === "geofenceEnter" || reason === "geofenceExit";
}

function numberOf(params: Params, name: string, fallback: number): number {
  const value = params[name];
  return typeof value === "number" ? value : fallback;
}

function areaWords(params: Params): string {
  const area = params.geofence as { radius?: unknown; type?: unknown } | null | undefined;
  if (typeof area?.radius === "number") return area.radius >= 1_000 ? `a circle of ${Number((area.radius / 1_000).toFixed(1))} km` : `a circle of ${area.radius} m`;
  return area?.type === "MultiPolygon" ? "several areas" : area ? "a polygon" : "an area";
}

function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function reasonWords(reason: string | null | undefined, params: Params, measurement?: MeasurementWords): string {
  const failures = numberOf(params, "failingAfter", 5);
  switch (reason ?? "") {
    case "":
      return "Every event";
    case "measurement":
      return params.condition ? conditionWords(params) : sentence(conditionWords(params, measurement));
    case "deviceSilent":
      return `A device is silent for ${secondsWords(numberOf(params, "silentAfter", 86_400))}`;
    case "batteryLow":
      return `A battery is below ${numberOf(params, "batteryBelow", 20)} %`;
    case "geofenceEnter":
      return `A device enters ${areaWords(params)}`;
    case "geofenceExit":
      return `A device leaves ${areaWords(params)}`;
    case "configurationDrift":
      return "A configuration drifts";
    case "connectorFailing":
      return failures === 1 ? "A connector fails once" : `A connector fails ${failures} times in a row`;
    case "messagesFailed":
      return "A connector gives up deliveries";
    case "connectorRecovered":
      return "A connector has recovered";
    default:
      return `An event or a record says ${reason}`;
  }
}

// Its own recipients, and then the contact points that it names.
export function recipientWords(type: string, params: Params, nameOf: (contactPointId: string) => string): string {
  const named = Array.isArray(params.contactPoints) ? (params.contactPoints as string[]).map(nameOf) : [];
  return [ownRecipients(type, params), ...named].filter(Boolean).join(", ");
}

function ownRecipients(type: string, params: Params): string {
  const url = typeof params.url === "string" ? params.url : "";
  if (type === "email") return Array.isArray(params.to) ? params.to.join(", ") : "";
  if (type === "push") return "Members with a registered phone or browser";
  if (type === "chat") return `Chat ${url.split(":")[0] ?? ""}`.trim();
  return url;
}

interface Time {
  Hours: number;
  Minutes: number;
}

export interface Schedule {
  Day: number;
  From?: Time | null;
  To?: Time | null;
}

export const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"] as const;
export const DAY_MINUTES = 24 * 60;
export const WEEK_MINUTES = 7 * DAY_MINUTES;

export function parseSchedule(text: string | null | undefined): Schedule | null {
  try {
    const found = JSON.parse(text ?? "") as Schedule | null;
    return found && typeof found.Day === "number" ? found : null;
  } catch {
    return null;
  }
}

const minutesOf = ({ Hours, Minutes }: Time) => Hours * 60 + Minutes;

// From Monday 00:00, in minutes. What goes past Sunday begins again on Monday.
export function weekSpans({ Day, From, To }: Schedule): (readonly [number, number])[] {
  const start = ((Day || 7) - 1) * DAY_MINUTES;
  const begin = From ? minutesOf(From) : 0;
  let end = To ? minutesOf(To) : DAY_MINUTES;
  if (From && To && end <= begin) end += DAY_MINUTES;
  if (start + end <= WEEK_MINUTES) return [[start + begin, start + end]];
  return [
    [start + begin, WEEK_MINUTES],
    [0, start + end - WEEK_MINUTES],
  ];
}

const STEP_MINUTES = 15;

export interface DrawnSpan {
  readonly from: number;
  readonly to: number;
  // As the fields have it; the end of the day is said by an empty text.
  readonly fromText: string;
  readonly toText: string;
}

// What was dragged over, in quarters of an hour and in either direction; a press is an hour.
export function drawnSpan(start: number, end: number): DrawnSpan {
  const low = Math.min(start, end);
  const high = Math.max(start, end);
  const isPress = high - low < STEP_MINUTES / 2;
  const from = Math.min(DAY_MINUTES - STEP_MINUTES, isPress ? Math.floor(low / 60) * 60 : Math.round(low / STEP_MINUTES) * STEP_MINUTES);
  const to = isPress ? from + 60 : Math.max(from + STEP_MINUTES, Math.round(high / STEP_MINUTES) * STEP_MINUTES);
  const text = (minutes: number) => clock({ Hours: Math.floor(minutes / 60), Minutes: minutes % 60 });
  const isWhole = from === 0 && to >= DAY_MINUTES;
  return { from, to, fromText: isWhole ? "" : text(from), toText: isWhole ? "" : to >= DAY_MINUTES ? "23:59" : text(to) };
}

export function clock(time: Time | null | undefined): string {
  return time ? `${String(time.Hours).padStart(2, "0")}:${String(time.Minutes).padStart(2, "0")}` : "";
}

export function scheduleWords(schedule: Schedule | null, zone: string): string {
  if (!schedule) return "Always";
  const day = DAYS[(schedule.Day || 7) - 1] ?? "";
  if (!schedule.From && !schedule.To) return `${day}, ${zone}`;
  return `${day} ${clock(schedule.From) || "00:00"} to ${clock(schedule.To) || "24:00"}, ${zone}`;
}

// What a backtest has found, as a sentence.
export function timesWords({ items, messages, nextToken }: Pick<Schemas["BacktestResult"], "items" | "messages" | "nextToken">): string {
  const raised = items.reduce((sum, each) => sum + each.alarms.length, 0);
  const part = nextToken ? " Not all devices were examined." : "";
  if (raised === 0) return `In the last week it would not have been raised.${part}`;
  const times = raised === 1 ? "once" : `${raised.toLocaleString("en")} times`;
  const where = items.length === 1 ? "" : ` on ${items.length.toLocaleString("en")} devices`;
  return `In the last week it would have been raised ${times}${where}, ${messages.toLocaleString("en")} ${messages === 1 ? "delivery" : "deliveries"}.${part}`;
}

// Where a limit may be moved: as far as the values go, and a little further, in round steps.
export function sliderOf(values: readonly (number | undefined)[], limit: number | undefined): { min: number; max: number; step: number } | null {
  const known = values.filter((each) => each !== undefined);
  if (known.length === 0) return null;
  const [low, high] = [Math.min(...known, limit ?? Infinity), Math.max(...known, limit ?? -Infinity)];
  const width = high - low || Math.abs(high) || 1;
  const step = 10 ** Math.floor(Math.log10(width / 50));
  const round = (value: number) => Number((Math.round(value / step) * step).toPrecision(12));
  return { min: round(low - width / 10), max: round(high + width / 10), step };
}
