// Reports in words, and the secret of a link to one.
import type { Schemas } from "~/api/client";
import { formatTime } from "~/time";
import { t } from "~/messages/reports";

export const CONTENT_LABELS: Readonly<Record<Schemas["ReportContent"], string>> = {
  records: t("Records"),
  series: t("NumbersOfMeasurement"),
  devices: t("Devices"),
  alarms: t("Alarms"),
};

// `#lwr_…` of a mail.
export function secretOf(fragment: string): string | null {
  return /^#?(lwr_[\w.-]+)$/.exec(fragment)?.[1] ?? null;
}

// A day, or from the first to the last one, by the calendar of the report.
export function periodWords({ beginDate, endDate, timezone }: { beginDate: string; endDate: string; timezone: string }): string {
  const day = (moment: number) => formatTime(moment, timezone, "day");
  const first = day(Date.parse(beginDate));
  const last = day(Date.parse(endDate) - 1);
  return first === last ? first : t("firstToLast", { first, last });
}
