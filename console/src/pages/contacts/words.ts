// A contact point in words: whom it reaches, and what uses it.
import { parseParams, type Params } from "~/pages/connectors/params";
import type { Notification } from "~/pages/notifications/queries";
import { DAYS, recipientWords } from "~/pages/notifications/words";
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
  const short = (day: number | undefined) => (DAYS[(day ?? 1) - 1] ?? "").slice(0, 3);
  return spans.map((span) => (span.length > 2 ? t("shortToShort2", { short: short(span[0]), short2: short(span.at(-1)) }) : span.map(short).join(", "))).join(", ");
}

export function shiftWords({ days, from, to }: Pick<Shift, "days" | "from" | "to">): string {
  if (!from && !to) return dayWords(days);
  const isNextDay = from !== "" && to !== "" && to <= from;
  return t("daysValueToValue2Value3", { days: dayWords(days), value: from || "00:00", value2: to || "24:00", value3: isNextDay ? ` ${t("onNextDay")}` : "" });
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
