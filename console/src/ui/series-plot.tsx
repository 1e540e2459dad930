// The drawing of a Series, with uPlot: loaded when the first chart is shown.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent } from "react";
import { useZone } from "~/frame/page-state";
import { themeInUse, usePreferences } from "~/preferences";
import { formatTime, type Span } from "~/time";
import { indexAt, stack, tickLabel, timeStep, timeTicks, valueTicks, withGaps } from "./chart-data";
import { crosshair, onCrosshair, setCrosshair } from "./crosshair";
import { formatValue, type SeriesBand, type SeriesMark, type SeriesProps } from "./series";
import { t } from "~/messages/ui";

const FONT = "12px system-ui, sans-serif";
const TICK_PX = 72;
const LINE_PX = 40;
const DRAG_PX = 4;
const DOUBLE_CLICK_MS = 250;
const AXIS_GAP_PX = 6;
const MARK_PX = 12;
const NEAR_PX = 6;

type Current = SeriesProps & { readonly zone: string };

function cssColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function translucent(colour: string): string {
  return /^#[0-9a-f]{6}$/i.test(colour) ? `${colour}33` : colour;
}

// Where the bucket ends that begins at a time.
function endOf({ times, ends, bucketMs = 0 }: SeriesProps, index: number): number {
  return ends?.[index] ?? (times[index] ?? 0) + bucketMs;
}

function shownSpan(props: SeriesProps): Span {
  const { times, look, span } = props;
  const first = times[0] ?? span?.begin ?? 0;
  const isBars = look === "bars" && times.length > 0;
  const last = isBars ? endOf(props, times.length - 1) : (times[times.length - 1] ?? span?.end ?? 1);
  if (!span) return { begin: first, end: Math.max(last, first + 1) };
  // Bars at the edges are shown whole.
  return look === "bars" ? { begin: Math.min(span.begin, first), end: Math.max(span.end, last) } : span;
}

function plotData(props: SeriesProps): uPlot.AlignedData {
  const { look, series } = props;
  if (look === "bars") {
    const sums = stack(series.map((each) => each.values));
    // The highest sum first, so that those below are painted over it.
    return [[...props.times], ...sums.reverse()];
  }
  const columns = series.flatMap((each) => (each.low && each.high ? [each.values, each.low, each.high] : [each.values]));
  if (!props.bucketMs) return [[...props.times], ...columns.map((each) => [...each])];
  const [times, values] = withGaps(props.times, columns, props.bucketMs);
  return [times, ...values];
}

function barSeries(series: SeriesProps["series"]): uPlot.Series[] {
  const bars = uPlot.paths.bars?.({ size: [1, Infinity, 1], align: 1, gap: 1 });
  return [...series].reverse().map((each) => ({
    label: each.label,
    fill: cssColour(each.color),
    width: 0,
    points: { show: false },
    ...(bars ? { paths: bars } : {}),
  }));
}

function lineSeries(series: SeriesProps["series"]): [uPlot.Series[], uPlot.Band[]] {
  const lines: uPlot.Series[] = [];
  const bands: uPlot.Band[] = [];
  for (const each of series) {
    const colour = cssColour(each.color);
    lines.push({ label: each.label, stroke: colour, width: 1.5, spanGaps: false, points: { size: 4, space: 24, fill: colour }, ...(each.dash?.length ? { dash: [...each.dash] } : {}) });
    if (!each.low || !each.high) continue;
    const edge: uPlot.Series = { stroke: "transparent", width: 0, points: { show: false } };
    lines.push({ ...edge }, { ...edge });
    bands.push({ series: [lines.length, lines.length - 1], fill: translucent(colour) });
  }
  return [lines, bands];
}

function textWidth(u: uPlot, texts: readonly string[]): number {
  u.ctx.save();
  u.ctx.font = FONT;
  const width = Math.max(0, ...texts.map((each) => u.ctx.measureText(each).width));
  u.ctx.restore();
  return Math.ceil(width);
}

function valueAxis(current: () => Current): [uPlot.Scale, uPlot.Axis] {
  let ticks: number[] = [0, 1];
  const scale: uPlot.Scale = {
    range: (u, low, high) => {
      const { look, fromZero, isWhole = look === "bars", limits = [] } = current();
      const isKnown = Number.isFinite(low) && Number.isFinite(high) && low !== null && high !== null;
      if (isKnown) [low, high] = [Math.min(low, ...limits), Math.max(high, ...limits)];
      const least = look === "bars" || fromZero || !isKnown ? 0 : low;
      const most = Math.max(5, Math.floor((u.height - 32) / LINE_PX)) - 1;
      ticks = valueTicks(Math.min(least, isKnown ? low : 0), isKnown ? high : 0, most, isWhole);
      return [ticks[0] ?? 0, ticks[ticks.length - 1] ?? 1];
    },
  };
  const axis: uPlot.Axis = {
    stroke: cssColour("--ink-3"),
    font: FONT,
    gap: AXIS_GAP_PX,
    ticks: { show: false },
    grid: { stroke: cssColour("--line"), width: 1 },
    splits: () => ticks,
    values: (_, splits) => splits.map((each) => (current().tickFormat ?? current().format ?? formatValue)(each)),
    size: (u, values) => (values ? textWidth(u, values) + AXIS_GAP_PX + 4 : LINE_PX),
  };
  return [scale, axis];
}

// Labels that would reach beyond the drawing are left out: half a time is none.
function withoutCut(u: uPlot, moments: readonly number[], labels: readonly string[]): string[] {
  const left = u.bbox.left / devicePixelRatio;
  return labels.map((label, index) => {
    const middle = left + u.valToPos(moments[index] ?? 0, "x");
    const half = textWidth(u, [label]) / 2;
    return middle - half < 0 || middle + half > u.width ? "" : label;
  });
}

function timeAxis(current: () => Current): [uPlot.Scale, uPlot.Axis] {
  const ticksMax = (u: uPlot) => Math.max(1, Math.floor(u.bbox.width / devicePixelRatio / TICK_PX));
  const scale: uPlot.Scale = {
    time: false,
    range: () => {
      const { begin, end } = shownSpan(current());
      return [begin, end];
    },
  };
  const axis: uPlot.Axis = {
    stroke: cssColour("--ink-3"),
    font: FONT,
    gap: AXIS_GAP_PX,
    size: 26,
    ticks: { show: false },
    grid: { show: false },
    splits: (u, _, low, high) => timeTicks(low, high, ticksMax(u), current().zone),
    values: (u, splits) => {
      const { begin, end } = shownSpan(current());
      const step = timeStep(end - begin, ticksMax(u));
      return withoutCut(u, splits, splits.map((each) => tickLabel(each, step, current().zone)));
    },
  };
  return [scale, axis];
}

function plotOptions(current: () => Current, width: number, height: number): uPlot.Options {
  const { look, series } = current();
  const [xScale, xAxis] = timeAxis(current);
  const [yScale, yAxis] = valueAxis(current);
  const [lines, bands] = look === "bars" ? [barSeries(series), []] : lineSeries(series);
  return {
    width,
    height,
    // The label of a tick at the very right must not be cut off.
    padding: [8, 22, 0, 0],
    legend: { show: false },
    scales: { x: xScale, y: yScale },
    axes: [xAxis, yAxis],
    series: [{}, ...lines],
    bands,
    cursor: {
      y: false,
      points: { show: look === "lines" },
      drag: { x: current().onRange !== undefined, y: false, setScale: false, dist: DRAG_PX },
      bind: { dblclick: () => null },
    },
    hooks: { drawClear: [(u) => drawBands(u, current())], draw: [(u) => drawLimits(u, current()), (u) => drawMarks(u, current())] },
  };
}

function endOfBand({ end }: SeriesBand): number {
  return end ?? Infinity;
}

// Behind the lines, with an edge where each begins.
function drawBands(u: uPlot, { bands }: SeriesProps): void {
  const { ctx, bbox } = u;
  const place = (moment: number) => Math.max(bbox.left, Math.min(bbox.left + bbox.width, u.valToPos(moment, "x", true)));
  ctx.save();
  for (const each of bands?.items ?? []) {
    const colour = cssColour(`--${each.tone}`);
    const [left, right] = [place(each.begin), each.end === null ? bbox.left + bbox.width : place(each.end)];
    if (right <= bbox.left || left >= bbox.left + bbox.width) continue;
    ctx.fillStyle = translucent(colour);
    ctx.fillRect(left, bbox.top, Math.max(right - left, 2), bbox.height);
    ctx.fillStyle = colour;
    ctx.fillRect(left, bbox.top, Math.max(right - left, 2), 3 * devicePixelRatio);
  }
  ctx.restore();
}

function drawLimits(u: uPlot, { limits = [] }: SeriesProps): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = cssColour("--bad");
  ctx.lineWidth = 1.5 * devicePixelRatio;
  limits.forEach((limit, index) => {
    const y = Math.round(u.valToPos(limit, "y", true));
    ctx.setLineDash(index === 0 ? [] : [6 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  });
  ctx.restore();
}

function bandsAt({ bands }: SeriesProps, moment: number): readonly SeriesBand[] {
  return (bands?.items ?? []).filter((each) => each.begin <= moment && moment <= endOfBand(each)).slice(0, 5);
}

function drawMarks(u: uPlot, { marks = [] }: SeriesProps): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.fillStyle = cssColour("--kind-event");
  const bottom = bbox.top + bbox.height;
  const height = MARK_PX * devicePixelRatio;
  for (const { at } of marks) {
    const x = u.valToPos(at, "x", true);
    if (x >= bbox.left && x <= bbox.left + bbox.width) ctx.fillRect(Math.round(x) - 1, bottom - height, 2, height);
  }
  ctx.restore();
}

// What happened where the crosshair is.
function marksNear(u: uPlot, { marks = [] }: SeriesProps, left: number): readonly SeriesMark[] {
  return marks.filter(({ at }) => Math.abs(u.valToPos(at, "x") - left) <= NEAR_PX).slice(0, 5);
}

// Marks the span that the page has chosen, or none.
function showSelection(u: uPlot, selection: Span | null | undefined): void {
  if (!selection) {
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    return;
  }
  const width = u.bbox.width / devicePixelRatio;
  const left = Math.max(0, Math.min(width, u.valToPos(selection.begin, "x")));
  const right = Math.max(0, Math.min(width, u.valToPos(selection.end, "x")));
  u.setSelect({ left, top: 0, width: right - left, height: u.bbox.height / devicePixelRatio }, false);
}

function listenToMouse(u: uPlot, current: () => Current): void {
  let pressedAt: number | null = null;
  let isSelecting = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const momentAt = (event: MouseEvent) => u.posToVal(event.clientX - u.over.getBoundingClientRect().left, "x");
  u.over.addEventListener("mousemove", (event) => setCrosshair(momentAt(event)));
  u.over.addEventListener("mouseleave", () => setCrosshair(null));
  u.over.addEventListener("mousedown", (event) => {
    pressedAt = event.clientX;
    isSelecting = false;
  });
  (u.hooks.setSelect ??= []).push(() => {
    const { left, width } = u.select;
    const { onRange, selection } = current();
    if (width >= DRAG_PX && onRange) {
      isSelecting = true;
      onRange({ begin: Math.round(u.posToVal(left, "x")), end: Math.round(u.posToVal(left + width, "x")) });
    }
    showSelection(u, selection);
  });
  u.over.addEventListener("click", (event) => {
    if (pressedAt === null || Math.abs(event.clientX - pressedAt) >= DRAG_PX || isSelecting) return;
    const moment = momentAt(event);
    clearTimeout(timer);
    // A double click is not two presses of a bar.
    timer = setTimeout(() => pick(current(), moment), current().onBack ? DOUBLE_CLICK_MS : 0);
  });
  u.over.addEventListener("dblclick", () => {
    clearTimeout(timer);
    current().onBack?.();
  });
}

function bucketAt(props: SeriesProps, moment: number): number | null {
  if (props.look !== "bars") return indexAt(props.times, moment, null);
  const index = indexAt(props.times, moment, Infinity);
  return index !== null && moment < endOf(props, index) ? index : null;
}

function pick(props: SeriesProps, moment: number): void {
  const index = bucketAt(props, moment);
  const begin = index === null ? undefined : props.times[index];
  if (begin !== undefined) props.onPick?.({ begin, end: endOf(props, index ?? 0) });
}

interface Reading {
  readonly title: string;
  readonly values: readonly { readonly id: string; readonly label: string; readonly color: string; readonly text: string }[];
}

function readingAt({ zone, ...props }: Current, index: number): Reading {
  const { times, series, bucketMs, look, format = formatValue, unit, title } = props;
  const begin = times[index] ?? 0;
  const isFine = (bucketMs ?? 0) < 60_000;
  const from = formatTime(begin, zone, isFine ? "second" : "minute");
  const until = bucketMs && look === "bars" ? ` – ${formatTime(endOf(props, index), zone, "time").slice(0, isFine ? 8 : 5)}` : "";
  return {
    title: title ? title(begin) : from + until,
    values: series.map((each) => {
      const value = each.values[index];
      const low = each.low?.[index];
      const high = each.high?.[index];
      const band = typeof low === "number" && typeof high === "number" && low !== high ? ` (${format(low)} – ${format(high)})` : "";
      const text = typeof value === "number" ? `${format(value)}${unit ? ` ${unit}` : ""}${band}` : "–";
      return { id: each.id, label: each.label, color: each.color, text };
    }),
  };
}

// The moment that a key moves the crosshair to, or null for other keys.
function movedBy(event: KeyboardEvent, times: readonly number[], at: number | null): number | null {
  const step = event.shiftKey ? 10 : 1;
  const last = times.length - 1;
  if (event.key === "Home") return 0;
  if (event.key === "End") return last;
  if (event.key === "ArrowRight") return at === null ? 0 : Math.min(last, at + step);
  if (event.key === "ArrowLeft") return at === null ? last : Math.max(0, at - step);
  return null;
}

// What happened up to this point, since the one before it.
function marksBetween({ marks = [], times }: SeriesProps, index: number): readonly SeriesMark[] {
  const from = times[index - 1] ?? -Infinity;
  const to = index === times.length - 1 ? Infinity : (times[index] ?? 0);
  return marks.filter(({ at }) => at > from && at <= to).slice(0, 5);
}

function useKeys(current: () => Current, mark: (span: Span | null) => void): { onKeyDown: (event: KeyboardEvent) => void; spoken: string } {
  const [spoken, setSpoken] = useState("");
  const anchor = useRef<number | null>(null);
  const middle = (props: SeriesProps, index: number) => ((props.times[index] ?? 0) + (props.look === "bars" ? endOf(props, index) : (props.times[index] ?? 0))) / 2;
  const spanTo = (props: SeriesProps, index: number): Span => {
    const [low, high] = [Math.min(anchor.current ?? index, index), Math.max(anchor.current ?? index, index)];
    return { begin: props.times[low] ?? 0, end: endOf(props, high) };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const props = current();
    const moment = crosshair();
    const at = moment === null ? null : bucketAt(props, moment);
    const next = movedBy(event, props.times, at);
    if (next !== null) {
      event.preventDefault();
      setCrosshair(middle(props, next));
      const { title, values } = readingAt(props, next);
      const happened = [...marksBetween(props, next), ...bandsAt(props, props.times[next] ?? 0)].map((each) => each.label);
      setSpoken(`${title}: ${[...values.map((each) => `${each.label} ${each.text}`), ...happened].join(", ")}`);
      if (anchor.current !== null) mark(spanTo(props, next));
    } else if (event.key === " " && at !== null && props.onRange) {
      event.preventDefault();
      if (anchor.current === null) {
        anchor.current = at;
        mark(spanTo(props, at));
        setSpoken(t("spanBeginsHereMoveOnAnd"));
      } else {
        const chosen = spanTo(props, at);
        anchor.current = null;
        mark(null);
        props.onRange(chosen);
      }
    } else if (event.key === "Enter" && moment !== null && props.onPick) {
      event.preventDefault();
      pick(props, moment);
    } else if (event.key === "Backspace" && props.onBack) {
      event.preventDefault();
      props.onBack();
    } else if (event.key === "Escape") {
      anchor.current = null;
      mark(null);
      setCrosshair(null);
    }
  };
  return { onKeyDown, spoken };
}

export default function Plot(given: SeriesProps & { height: number }) {
  const { height, series, look, label } = given;
  const zone = useZone();
  usePreferences();
  const theme = themeInUse();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef<Current>({ ...given, zone });
  latest.current = { ...given, zone };
  const current = useCallback(() => latest.current, []);
  const [tip, setTip] = useState<{ index: number; left: number; isRight: boolean; marks: readonly SeriesMark[]; bands: readonly SeriesBand[] } | null>(null);
  // What uPlot cannot change later: the drawing is made again when one of these changes.
  const shape = JSON.stringify([look, theme, height, given.onRange !== undefined, series.map((each) => [each.id, each.color, each.dash, each.low !== undefined])]);

  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const made = new uPlot(plotOptions(current, Math.max(120, element.clientWidth), height), plotData(current()), element);
    plot.current = made;
    listenToMouse(made, current);
    showSelection(made, current().selection);
    const follow = (moment: number | null) => {
      const { begin, end } = shownSpan(current());
      const isInside = moment !== null && moment >= begin && moment <= end;
      const left = isInside ? made.valToPos(moment, "x") : -10;
      made.setCursor({ left, top: isInside ? 1 : -10 }, false);
      const index = isInside ? bucketAt(current(), moment) : null;
      setTip(index === null ? null : { index, left: left + made.over.offsetLeft, isRight: left > made.over.clientWidth / 2, marks: marksNear(made, current(), left), bands: bandsAt(current(), moment ?? 0) });
    };
    const stopFollowing = onCrosshair(follow);
    const observer = new ResizeObserver(() => {
      const width = Math.max(120, element.clientWidth);
      if (width === made.width) return;
      made.setSize({ width, height });
      showSelection(made, current().selection);
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      stopFollowing();
      made.destroy();
      plot.current = null;
    };
  }, [shape, current, height]);

  useEffect(() => {
    plot.current?.setData(plotData(current()));
  }, [given.times, given.series, given.span, given.bucketMs, given.marks, given.bands, given.limits, zone, current]);
  useEffect(() => {
    if (plot.current) showSelection(plot.current, given.selection);
  }, [given.selection, given.times, given.span]);

  const mark = useCallback((span: Span | null) => {
    if (plot.current) showSelection(plot.current, span ?? latest.current.selection);
  }, []);
  const { onKeyDown, spoken } = useKeys(current, mark);
  const reading = tip && tip.index < given.times.length ? readingAt(latest.current, tip.index) : null;
  return (
    <div className="series-plot">
      <div
        ref={place}
        className={`series-place ${given.onPick ? "series-pickable" : ""}`}
        style={{ height }}
        tabIndex={0}
        role="group"
        aria-roledescription="chart"
        aria-label={t("labelArrowKeysReadValuesValue", { label, value: given.onRange ? t("SpaceMarksSpan") : "" })}
        onKeyDown={onKeyDown}
        onBlur={() => setCrosshair(null)}
      />
      {reading && tip && (
        <div className="series-tip" aria-hidden="true" style={tip.isRight ? { right: `calc(100% - ${tip.left - 12}px)` } : { left: tip.left + 12 }}>
          <div className="series-tip-title">{reading.title}</div>
          {[...reading.values].reverse().map((each) => (
            <div key={each.id} className="series-tip-value">
              <span className="series-swatch" style={{ color: `var(${each.color})` }} />
              <span>{each.label}</span>
              <span className="number">{each.text}</span>
            </div>
          ))}
          {tip.bands.map((each, index) => (
            <div key={`band ${index}`} className="series-tip-value">
              <span className="series-band" data-tone={each.tone} />
              <span>{each.label}</span>
              <span className="number">{t("sinceBegin", { begin: formatTime(each.begin, zone, "clock") })}</span>
            </div>
          ))}
          {tip.marks.map((each, index) => (
            <div key={index} className="series-tip-value">
              <span className="series-mark" />
              <span>{each.label}</span>
              <span className="number">{formatTime(each.at, zone, "time").slice(0, 8)}</span>
            </div>
          ))}
        </div>
      )}
      <div className="visually-hidden" role="status" aria-live="polite">
        {spoken}
      </div>
    </div>
  );
}
