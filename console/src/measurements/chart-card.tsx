// A chart of measured values in a card of its own: what it shows, what must be known to read it right,
// and its figures as a file.
import { useMemo, type ReactNode } from "react";
import type { UseQueryResult } from "@tanstack/react-query";
import type { Operation } from "~/api/permissions";
import { useRange, useZone } from "~/frame/page-state";
import { stringifySearch } from "~/search";
import { formatTime, momentOf, spanOf, type Span } from "~/time";
import { calendarTimes, type CalendarSpan } from "~/ui/chart-data";
import { download } from "~/ui/export";
import { Card } from "~/ui/page";
import { formatValue, Series, type SeriesMark, type SeriesProps } from "~/ui/series";
import { ErrorState } from "~/ui/state";
import { NO_DRAWING, type ChartSource, type Drawing } from "./drawing";
import { valueText } from "./values";
import { t } from "~/messages/measurements";

const LATE_MS = 60_000;

// Of which range a series is asked for. Bars begin with a whole hour, day, week or month; spans of lines
// are chosen by the service, so that they begin at round times.
export interface AskedRange {
  readonly span: Span;
  // The begins of calendar spans.
  readonly times: readonly number[];
  readonly beginDate: string;
  readonly endDate: string;
}

export function askedRange(range: { from: string; to: string }, calendarSpan: CalendarSpan | null, zone: string): AskedRange {
  const span = spanOf(range, Date.now());
  const times = calendarSpan ? calendarTimes(span.begin, span.end, calendarSpan, zone) : [];
  return { span, times, beginDate: new Date(times[0] ?? span.begin).toISOString(), endDate: new Date(span.end).toISOString() };
}

export interface Charted {
  // As it was asked for.
  readonly query: object;
  readonly asked: AskedRange;
  readonly sources: readonly ChartSource[];
  readonly completeUntil: string | null | undefined;
  // Of how many records, if not of all.
  readonly sampledFrom?: number | undefined;
  readonly drawing: Drawing;
}

interface Shown {
  readonly unit?: string | undefined;
  readonly format: (value: number) => string;
  // Whether the bars add up to something.
  readonly isTotal: boolean;
  readonly zone: string;
}

function notesOf({ asked, sources, completeUntil, sampledFrom, drawing }: Charted, { unit, format, isTotal, zone }: Shown): string[] {
  const isBars = drawing.look === "bars";
  const total = drawing.series.flatMap((each) => each.values).reduce<number>((sum, each) => sum + (each ?? 0), 0);
  const gaps = isBars ? sources.flatMap((each) => each.points).filter((each) => each.hasGap).length : 0;
  const complete = momentOf(completeUntil);
  return [
    isBars && isTotal && drawing.series.some((each) => each.values.some((value) => value !== null)) && t("totalValueInAll", { total: format(total), value: unit ? ` ${unit}` : "" }),
    drawing.series.some((each) => each.low) && t("meanWithSmallestAndLargestOf"),
    gaps > 0 && t("valueWhatWasAddedWhileNo", { value: t("countBarsInclude", { count: gaps }) }),
    complete !== null && complete < asked.span.end - LATE_MS && t("countedUntilComplete", { complete: formatTime(complete, zone, "minute") }),
    sampledFrom !== undefined && t("sampleSampledFromRecordsWereRead", { sampledFrom }),
  ].filter((each) => typeof each === "string");
}

export function DownloadLink({ title, path, query }: { title: string; path: string; query: object }) {
  return (
    <button type="button" className="link" aria-label={t("DownloadCSVOfTitle", { title })} onClick={() => download(path + stringifySearch({ ...query, format: "csv" }))}>
      {t("DownloadCSV")}
    </button>
  );
}

export function ChartCard({
  title,
  groupId,
  operation,
  query,
  unit,
  decimals,
  isTotal = true,
  note,
  marks,
  bands,
  actions,
  hasTable,
  children,
}: {
  title: string;
  groupId: string;
  operation: Operation & `GET ${string}`;
  query: UseQueryResult<Charted>;
  unit?: string | undefined;
  decimals?: number | undefined;
  isTotal?: boolean;
  note?: string | undefined;
  marks?: readonly SeriesMark[];
  bands?: SeriesProps["bands"];
  actions?: ReactNode;
  hasTable?: boolean;
  children?: ReactNode;
}) {
  const { setRange } = useRange();
  const zone = useZone();
  const format = useMemo(() => (decimals === undefined ? undefined : (value: number) => valueText(value, decimals)), [decimals]);
  const found = query.data;
  const drawing = found?.drawing ?? NO_DRAWING;
  const notes = found ? notesOf(found, { unit, format: format ?? valueText, isTotal, zone }) : [];
  return (
    <Card
      title={title}
      note={
        <>
          {[note, ...notes].filter(Boolean).join("; ")} {found && <DownloadLink title={title} path={operation.slice("GET ".length)} query={found.query} />} {actions}
        </>
      }
    >
      {query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} operation={operation} groupId={groupId} />
      ) : (
        <Series
          {...drawing}
          label={title}
          span={found?.asked.span}
          isLoading={query.isPending}
          height={drawing.look === "bars" ? 180 : 150}
          unit={unit}
          format={format}
          tickFormat={formatValue}
          marks={marks}
          bands={bands}
          hasTable={hasTable}
          onRange={(next) => setRange({ from: new Date(next.begin).toISOString(), to: new Date(next.end).toISOString() })}
          onBack={() => history.back()}
        />
      )}
      {children}
    </Card>
  );
}
