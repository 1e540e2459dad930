// A chart over time: stacked bars of counts, or lines with an optional min–max band.
//
//   <Series label="Messages by kind" look="bars" times={…} bucketMs={1_800_000} span={span}
//           series={[{ id: "data", label: "data", color: "--kind-data", values: […] }]}
//           onRange={(span) => setRange(…)} onBack={() => history.back()} onPick={(begin) => …} />
//
// label      name of the chart, read by screen readers and head of its table
// look       "bars": values are counts of a bucket, stacked with the first series at the bottom;
//            "lines": values are measured at a moment
// times      milliseconds, ascending: the begin of each bucket (bars) or the moment (lines)
// bucketMs   how long a bucket is (bars: needed). With lines, points further apart than 1.5 of it
//            are not connected. A null among the values is a gap too; a zero is a zero. Undefined
//            is no value where another series has one: a line goes on over it
// ends       bars: the end of each bucket, where they are not equally long, as months are
// title      bars: what a bucket is called, by its begin; by default its begin and end
// isWhole    whether values are whole numbers: by default those of bars
// series     `color` is the name of a CSS variable ("--bad", "--kind-data", or `seriesStyle(i)` of
//            chart-data.ts with its `dash` for as many as there are); `low` and `high` are the band
// span       what the axis shows; by default from the first to the last time
// isLoading  there is nothing yet, which differs from zeros
// format     a value as text, by default with thousands and at most three decimals
// unit       behind a value where it is read out: "ms", "°C"
// fromZero   lines: the axis begins at 0 even if all values are far above
// selection  a span that is marked on the chart, for pages that let one choose a span
// marks      moments of their own, as short lines at the foot of the chart: what happened then is
//            read out with the value beside it
// bands      spans that are shaded, as long as something was wrong: with a name in the legend, and read
//            out with the values in them; one without an end still goes on
// limits     lines: values that are drawn across, and are always in view
// onRange    a span was dragged over, or marked with Space, arrows, Space
// onBack     double click, or Backspace
// onPick     a bucket was pressed (or Enter): its begin and end
// height     of the drawing, in pixels; the width is that of the place
//
// Zone and theme are those of the page. The crosshair is shared by all charts of the page; arrow
// keys move it (with Shift by ten, Home, End) and what is below it is read out.
import { Suspense, lazy, useState } from "react";
import { useZone } from "~/frame/page-state";
import { formatTime, zoneLabel, type Span } from "~/time";
import type { Values } from "./chart-data";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/ui";
import "./series.css";

export interface SeriesLine {
  readonly id: string;
  readonly label: string;
  readonly color: string;
  readonly dash?: readonly number[];
  readonly values: Values;
  readonly low?: Values;
  readonly high?: Values;
}

export interface SeriesMark {
  readonly at: number;
  readonly label: string;
}

export interface SeriesBand {
  readonly begin: number;
  readonly end: number | null;
  readonly label: string;
  readonly tone: "bad" | "warn" | "idle";
}

export interface SeriesProps {
  readonly label: string;
  readonly look: "bars" | "lines";
  readonly times: readonly number[];
  readonly series: readonly SeriesLine[];
  readonly bucketMs?: number | undefined;
  readonly ends?: readonly number[] | undefined;
  readonly title?: ((begin: number) => string) | undefined;
  readonly isWhole?: boolean | undefined;
  readonly span?: Span | undefined;
  readonly isLoading?: boolean;
  readonly format?: ((value: number) => string) | undefined;
  // Of the axis, where it differs: round numbers need no decimals.
  readonly tickFormat?: ((value: number) => string) | undefined;
  readonly unit?: string | undefined;
  readonly fromZero?: boolean;
  readonly marks?: readonly SeriesMark[] | undefined;
  readonly bands?: { readonly nouns: readonly [string, string]; readonly items: readonly SeriesBand[] } | undefined;
  readonly limits?: readonly number[] | undefined;
  readonly selection?: Span | null | undefined;
  readonly onRange?: ((span: Span) => void) | undefined;
  readonly onBack?: (() => void) | undefined;
  readonly onPick?: ((bucket: Span) => void) | undefined;
  readonly height?: number;
  // Of how many things each value is, as one more column of the table.
  readonly counts?: { readonly label: string; readonly values: Values } | undefined;
  // The figures stand below the chart, instead of in its place.
  readonly hasTable?: boolean | undefined;
}

const TONES = ["bad", "warn", "idle"] as const;

function worstTone(bands: readonly SeriesBand[]): SeriesBand["tone"] {
  return TONES.find((tone) => bands.some((each) => each.tone === tone)) ?? "idle";
}

const Plot = lazy(() => import("./series-plot"));

export function formatValue(value: number): string {
  if (Math.abs(value) >= 1e6) return value.toLocaleString(LOCALE, { notation: "compact", maximumFractionDigits: 2 });
  return value.toLocaleString(LOCALE, { maximumFractionDigits: 3 });
}

// In a table there is room for every digit that means something.
function formatFully(value: number): string {
  return value.toLocaleString(LOCALE, Math.abs(value) < 1 ? { maximumSignificantDigits: 6 } : { maximumFractionDigits: 6 });
}

export function Series(props: SeriesProps) {
  const { height = 180, series, isLoading = false, hasTable = false } = props;
  const [isTable, setTable] = useState(false);
  return (
    <figure className="series">
      {isTable ? (
        <SeriesTable {...props} />
      ) : (
        <Suspense fallback={<div style={{ height }} aria-busy="true" />}>
          {isLoading ? <div style={{ height }} aria-busy="true" /> : <Plot {...props} height={height} />}
        </Suspense>
      )}
      <figcaption className="series-foot">
        <ul className="series-legend" aria-label={t("Legend")}>
          {series.map((each) => (
            <li key={each.id}>
              <span
                aria-hidden="true"
                className={props.look === "bars" ? "series-swatch" : "series-stroke"}
                style={{ color: `var(${each.color})`, ...(each.dash?.length ? { borderTopStyle: "dashed" as const } : {}) }}
              />
              {each.label}
            </li>
          ))}
          {props.marks && props.marks.length > 0 && (
            <li>
              <span aria-hidden="true" className="series-mark" />
              {t("countEvents", { count: props.marks.length })}
            </li>
          )}
          {props.bands && props.bands.items.length > 0 && (
            <li>
              <span aria-hidden="true" className="series-band" data-tone={worstTone(props.bands.items)} />
              {props.bands.items.length.toLocaleString(LOCALE)} {props.bands.nouns[props.bands.items.length === 1 ? 0 : 1]}
            </li>
          )}
        </ul>
        {!hasTable && (
          <button type="button" className="link series-switch" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
            {isTable ? t("AsChart") : t("AsTable")}
          </button>
        )}
      </figcaption>
      {hasTable && !isLoading && <SeriesTable {...props} />}
    </figure>
  );
}

function SeriesTable({ label, times, series, height = 180, format = formatFully, unit, bucketMs, look, title, counts }: SeriesProps) {
  const zone = useZone();
  // The end of a line before a gap is no row.
  const rows = times.map((time, at) => ({ time, at })).filter(({ at }) => series.some((each) => typeof each.values[at] === "number"));
  const suffix = unit ? ` (${unit})` : "";
  const cell = (value: number | null | undefined) => (value === null || value === undefined ? "–" : format(value));
  return (
    <div className="series-table" style={{ maxHeight: Math.max(height, 240) }} tabIndex={0} role="region" aria-label={t("labelAsTable", { label })}>
      <table className="plain">
        <caption className="visually-hidden">{label}</caption>
        <thead>
          <tr>
            <th scope="col">{bucketMs || look === "bars" ? t("From") : t("Time")}, {zoneLabel(zone)}</th>
            {series.flatMap((each) => [
              <th key={each.id} scope="col" className="cell-end">
                {each.label}
                {suffix}
              </th>,
              ...(each.low && each.high
                ? [
                    <th key={`${each.id} low`} scope="col" className="cell-end">{t("lowest")}</th>,
                    <th key={`${each.id} high`} scope="col" className="cell-end">{t("highest")}</th>,
                  ]
                : []),
            ])}
            {counts && <th scope="col" className="cell-end">{counts.label}</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ time, at }) => (
            <tr key={time}>
              <th scope="row" className="number">{title ? title(time) : formatTime(time, zone)}</th>
              {series.flatMap((each) => [
                <td key={each.id} className="number cell-end">{cell(each.values[at])}</td>,
                ...(each.low && each.high
                  ? [
                      <td key={`${each.id} low`} className="number cell-end">{cell(each.low[at])}</td>,
                      <td key={`${each.id} high`} className="number cell-end">{cell(each.high[at])}</td>,
                    ]
                  : []),
              ])}
              {counts && <td className="number cell-end">{counts.values[at]?.toLocaleString(LOCALE) ?? "–"}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
