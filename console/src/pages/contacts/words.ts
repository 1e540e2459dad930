// A contact point in words: whom it reaches, and what uses it.
import { parseParams, type Params } from "~/pages/connectors/params";
import type { Notification } from "~/pages/notifications/queries";
import { recipientWords } from "~/pages/notifications/words";
import { LOCALE } from "~/i18n";
import { nameOr } from "~/ui/name";
import { ALL_DAYS, parseShifts, type Shift } from "./form";
import type { ContactPoint } from "./queries";
import { t } from "~/messages/contacts";

export const CONTACT_TYPE_HINTS: Readonly<Record<string, string>> = {
  email: t("mailOfItsOwnToEach"),
  webhook: t("requestToURLSignedByStandard"),
  push: t("ToPhonesAndBrowsersOfMembers"),
  chat: t("SlackTelegramPagerDutyAndOthers"),
  rota: t("ToWhoeverHasShiftAtThat"),
};

// 1 January 2024 was a Monday.
export function weekday(day: number, length: "long" | "short"): string {
  return new Date(Date.UTC(2024, 0, day)).toLocaleDateString(LOCALE, { weekday: length, timeZone: "UTC" });
}

// Days that follow each other are a span: "Mon to Fri, Sun".
export function dayWords(days: readonly number[]): string {
  const sorted = ALL_DAYS.filter((each) => days.includes(each));
  if (sorted.length === ALL_DAYS.length) return t("everyDay");
  const spans: number[][] = [];
  for (const day of sorted) {
    const last = spans.at(-1);
    if (last?.at(-1) === day - 1) last.push(day);
    else spans.push([day]);
  }
  const short = (day: number | undefined) => weekday(day ?? 1, "short");
  return spans.map((span) => (span.length > 2 ? t("firstToLast", { first: short(span[0]), last: short(span.at(-1)) }) : span.map(short).join(", "))).join(", ");
}

export function shiftWords({ days, from, to }: Pick<Shift, "days" | "from" | "to">): string {
  if (!from && !to) return dayWords(days);
  const isNextDay = from !== "" && to !== "" && to <= from;
  const places = { days: dayWords(days), from: from || "00:00", to: to || "24:00" };
  return isNextDay ? t("daysFromToNextDay", places) : t("daysFromTo", places);
}

export function contactWords(contact: Pick<ContactPoint, "type" | "params">, nameOf: (id: string) => string): string {
  if (!contact.params) return t("sharedByGroupAbove");
  const params = parseParams(contact.params);
  if (contact.type !== "rota") return recipientWords(contact.type, params, nameOf);
  const names = new Set(parseShifts(params.shifts).map((each) => nameOf(each.contactPoint)));
  return [...names].join(", ");
}

function isNamedBy(params: Params, id: string): boolean {
  return params.escalateTo === id || (Array.isArray(params.contactPoints) && params.contactPoints.includes(id));
}

function isInRota(params: Params, id: string): boolean {
  return params.fallback === id || parseShifts(params.shifts).some((each) => each.contactPoint === id);
}

export interface User {
  readonly kind: "notification" | "contact point";
  readonly id: string;
  readonly name: string;
}

// What uses a contact point in the group that is looked at; those of groups below are named when it is deleted.
export function usersOf(id: string, notifications: readonly Pick<Notification, "id" | "name" | "params">[], contacts: readonly Pick<ContactPoint, "id" | "name" | "type" | "params">[]): User[] {
  const rotas = contacts.filter((each) => each.type === "rota" && each.params && isInRota(parseParams(each.params), id));
  return [
    ...notifications.filter((each) => isNamedBy(parseParams(each.params), id)).map((each) => ({ kind: "notification" as const, id: each.id, name: nameOr(each.name, each.id) })),
    ...rotas.map((each) => ({ kind: "contact point" as const, id: each.id, name: nameOr(each.name, each.id) })),
  ];
}
