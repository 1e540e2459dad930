// A list of messages, newest first, with a head for each day in the zone of the page.
import { formatTime, momentOf } from "~/time";
import type { MessageEvent } from "./words";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/messages";

export interface DayHead {
  readonly type: "day";
  readonly day: string;
  readonly succeed: number;
  readonly failed: number;
  readonly processing: number;
  // The last day may go on beyond what is loaded.
  readonly isComplete: boolean;
}

export type DayRow = DayHead | { readonly type: "message"; readonly event: MessageEvent };

export function groupByDay(events: readonly MessageEvent[], zone: string, hasMore: boolean): DayRow[] {
  const rows: DayRow[] = [];
  const days = new Map<string, MessageEvent[]>();
  for (const event of events) {
    const moment = momentOf(event.timestamp);
    const day = moment === null ? t("TimeNotKnown") : formatTime(moment, zone, "day");
    const known = days.get(day);
    if (known) known.push(event);
    else days.set(day, [event]);
  }
  const names = [...days.keys()];
  for (const [day, inDay] of days) {
    const count = (status: string) => inDay.filter((each) => each.status === status).length;
    const isComplete = !hasMore || day !== names[names.length - 1];
    rows.push({ type: "day", day, succeed: count("succeed"), failed: count("failed"), processing: count("processing"), isComplete });
    for (const event of inDay) rows.push({ type: "message", event });
  }
  return rows;
}

export function dayCounts(head: DayHead): string {
  const more = head.isComplete ? "" : "+";
  const parts: [number, string][] = [
    [head.succeed, "delivered"],
    [head.failed, "failed"],
    [head.processing, "waiting"],
  ];
  return parts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count.toLocaleString(LOCALE)}${more} ${word}`)
    .join(" · ");
}
