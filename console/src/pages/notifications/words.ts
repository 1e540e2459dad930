// A notification in words: why it fires, whom it reaches, and when it may.
import type { Schemas } from "~/api/client";
import type { Params } from "~/pages/connectors/params";
import { secondsWords } from "~/seconds";
import type { MeasurementWords } from "~/alarms/words";
import { conditionWords } from "./condition";
import { t } from "~/messages/notifications";

export interface ReasonChoice {
  readonly reason: string;
  readonly label: string;
  readonly hint: string;
}

// Those that the service raises itself.
export const ALERTS: readonly ReasonChoice[] = [
  { reason: "measurement", label: t("valueIsTooHighOrToo"), hint: t("SentWhenItHasBeenSo") },
  { reason: "deviceSilent", label: t("deviceIsSilent"), hint: t("SentWhenItHasNotReported") },
  { reason: "batteryLow", label: t("batteryIsLow"), hint: t("SentWhenChargeFallsBelowLimit") },
  { reason: "geofenceEnter", label: t("deviceEntersArea"), hint: t("FromItsSecondPositionOnFirst") },
  { reason: "geofenceExit", label: t("deviceLeavesArea"), hint: t("FromItsSecondPositionOnFirst") },
  { reason: "configurationDrift", label: t("configurationDrifts"), hint: t("SentWhenDeviceReportsAnotherConfiguration") },
  { reason: "connectorFailing", label: t("connectorIsFailing"), hint: t("SentAfterNumberOfFailuresIn") },
  { reason: "messagesFailed", label: t("connectorGivesUpDeliveries"), hint: t("SentOnceUntilTheyAreResent") },
  { reason: "connectorRecovered", label: t("connectorHasRecovered"), hint: t("SentWhenDeliverySucceedsAgain") },
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
  if (typeof area?.radius === "number") return area.radius >= 1_000 ? t("circleOfNumberKm", { Number: Number((area.radius / 1_000).toFixed(1)) }) : t("circleOfRadiusM", { radius: area.radius });
  return area?.type === "MultiPolygon" ? t("severalAreas") : area ? "a polygon" : t("area");
}

function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function reasonWords(reason: string | null | undefined, params: Params, measurement?: MeasurementWords): string {
  const failures = numberOf(params, "failingAfter", 5);
  switch (reason ?? "") {
    case "":
      return t("EveryEvent");
    case "measurement":
      return params.condition ? conditionWords(params) : sentence(conditionWords(params, measurement));
    case "deviceSilent":
      return t("deviceIsSilentForSecondsWords", { secondsWords: secondsWords(numberOf(params, "silentAfter", 86_400)) });
    case "batteryLow":
      return t("batteryIsBelowParams", { params: numberOf(params, "batteryBelow", 20) });
    case "geofenceEnter":
      return t("deviceEntersParams", { params: areaWords(params) });
    case "geofenceExit":
      return t("deviceLeavesParams", { params: areaWords(params) });
    case "configurationDrift":
      return t("configurationDrifts");
    case "connectorFailing":
      return t("connectorFailsCountTimesInRow", { count: failures });
    case "messagesFailed":
      return t("connectorGivesUpDeliveries");
    case "connectorRecovered":
      return t("connectorHasRecovered");
    default:
      return t("eventOrRecordSaysReason", { reason });
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
  if (type === "push") return t("MembersWithRegisteredPhoneOrBrowser");
  if (type === "chat") return t("ChatValue", { value: url.split(":")[0] ?? "" }).trim();
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

export const DAYS = [t("Monday"), t("Tuesday"), t("Wednesday"), t("Thursday"), t("Friday"), t("Saturday"), t("Sunday")] as const;
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
  if (!schedule) return t("Always");
  const day = DAYS[(schedule.Day || 7) - 1] ?? "";
  if (!schedule.From && !schedule.To) return `${day}, ${zone}`;
  return t("dayValueToValue2Zone", { day, value: clock(schedule.From) || "00:00", value2: clock(schedule.To) || "24:00", zone });
}

// What a backtest has found, as a sentence.
export function timesWords({ items, messages, nextToken }: Pick<Schemas["BacktestResult"], "items" | "messages" | "nextToken">): string {
  const raised = items.reduce((sum, each) => sum + each.alarms.length, 0);
  const part = nextToken ? ` ${t("NotAllDevicesWereExamined")}` : "";
  if (raised === 0) return t("InLastWeekItWouldNot", { part });
  const times = t("countTimes", { count: raised });
  const where = items.length === 1 ? "" : ` ${t("onCountDevices", { count: items.length })}`;
  return t("InLastWeekItWouldHave", { times, where, messages, value: t("deliveries", { count: messages }), part });
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
