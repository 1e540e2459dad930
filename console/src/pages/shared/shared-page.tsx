// What a link shows to whoever has it, alone or within another page. The secret stays in the fragment of
// the address, so that the page can be loaded again; it is sent as a bearer token only.
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { ApiProblem, api, read, type Schemas } from "~/api/client";
import { queryClient } from "~/api/queries";
import { useZone } from "~/frame/page-state";
import { bearer, useFragmentSecret } from "~/fragment-secret";
import { drawBars, drawLines, spanTitle, type ChartSource } from "~/measurements/drawing";
import { Bands } from "~/measurements/state-history";
import { bandsOf } from "~/measurements/states";
import { measurementLabel, valueText } from "~/measurements/values";
import { showTheme } from "~/preferences";
import { ago, momentOf, type Span } from "~/time";
import { Button } from "~/ui/button";
import { calendarTimes, type CalendarSpan } from "~/ui/chart-data";
import { Card } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { formatValue, Series } from "~/ui/series";
import { Empty, Loading } from "~/ui/state";
import { TimeText, useNow } from "~/ui/time-text";
import { CLOSED_WORDS, secretOf } from "./words";
import { t } from "~/messages/shared";
import "./shared.css";

type Line = Schemas["SharedLine"];
type Column = Schemas["SharedColumn"];
type Row = Schemas["SharedDeviceRow"];

const REFRESH_MS = 60_000;
const PAGE_ITEMS = 100;

const SharedMap = lazy(() => import("./shared-map"));

// What has been read stays while further requests fail.
function Failure({ error, onRetry }: { error: Error; onRetry: () => void }) {
  return (
    <div className="shared-note" role="alert">
      <p>{error.message}</p>
      <Button onClick={onRetry}>{t("TryAgain")}</Button>
    </div>
  );
}

// A link that has ended shows nothing, not even what was read before.
function useEnded(error: Error | null): void {
  const hasEnded = error instanceof ApiProblem && [401, 403].includes(error.status);
  useEffect(() => {
    if (hasEnded) void queryClient.invalidateQueries({ queryKey: ["shared-view"] });
  }, [hasEnded]);
}

// --- a chart ---

const titleOf = ({ label, measurement, unit }: Line) => [measurementLabel({ name: measurement, label }), unit].filter(Boolean).join(", ");
const isAdded = ({ of }: Line) => of === "increase" || of === "sum";

function sourcesOf(lines: readonly Line[], name: string): ChartSource[] {
  return lines.map((line, index) => ({
    id: String(index),
    name: line.deviceName ?? name,
    points: line.points.map((each) => ({ at: momentOf(each.timestamp) ?? 0, value: each.value, low: each.min, high: each.max })),
  }));
}

function SharedChart({ lines, series, name }: { lines: readonly Line[]; series: Schemas["SharedSeries"]; name: string }) {
  const viewerZone = useZone();
  const zone = series.timezone ?? viewerZone;
  const [first] = lines;
  const { calendarSpan, timeSpan = 0 } = series;
  const span: Span = useMemo(() => ({ begin: momentOf(series.beginDate) ?? 0, end: momentOf(series.endDate) ?? 1 }), [series.beginDate, series.endDate]);
  const drawing = useMemo(() => {
    const sources = sourcesOf(lines, name);
    const isKnown = calendarSpan && calendarSpan !== "year";
    if (!isKnown) return drawLines(sources, timeSpan * 1_000);
    const calendar = calendarSpan as CalendarSpan;
    if (first && isAdded(first)) return drawBars(sources, calendarTimes(span.begin, span.end, calendar, zone), calendar, zone);
    return drawLines(sources, 0, spanTitle(calendar, zone));
  }, [lines, name, first, calendarSpan, timeSpan, span, zone]);
  if (!first) return null;
  const { decimals } = first;
  return (
    <Card title={titleOf(first)}>
      <Series {...drawing} label={titleOf(first)} span={span} height={200} unit={first.unit} format={decimals === undefined ? undefined : (value) => valueText(value, decimals)} tickFormat={formatValue} />
    </Card>
  );
}

function SharedStates({ lines, series }: { lines: readonly Line[]; series: Schemas["SharedSeries"] }) {
  const zone = useZone();
  const begin = momentOf(series.beginDate) ?? 0;
  const end = Math.min(momentOf(series.endDate) ?? begin + 1, Math.max(Date.now(), begin + 1));
  const rows = lines.map((line, index) => ({ id: String(index), name: line.deviceName ?? "", bands: bandsOf(line.states ?? [], end, (value) => valueText(value)) }));
  const label = lines[0] ? titleOf(lines[0]) : "";
  return (
    <Card title={label}>
      <Bands rows={rows} span={{ begin, end }} zone={zone} label={label} />
    </Card>
  );
}

function ChartView({ secret, name }: { secret: string; name: string }) {
  const query = useQuery({
    queryKey: ["shared-series", secret],
    queryFn: ({ signal }) => read(api.GET("/share/series", { headers: bearer(secret), signal })),
    refetchInterval: REFRESH_MS,
  });
  useEnded(query.error);
  const series = query.data;
  if (!series) return query.isError ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : <Loading rows={6} />;
  const measured = [...new Set(series.lines.map((each) => each.measurement))].map((measurement) => series.lines.filter((each) => each.measurement === measurement));
  if (measured.length === 0) return <Empty text={t("ThereAreNoValuesInThis")} />;
  return (
    <>
      {measured.map((lines) =>
        lines[0]?.states ? <SharedStates key={lines[0].measurement} lines={lines} series={series} /> : <SharedChart key={lines[0]?.measurement} lines={lines} series={series} name={name} />,
      )}
    </>
  );
}

// --- devices ---

function useDevices(secret: string) {
  return useInfiniteQuery({
    queryKey: ["shared-devices", secret],
    queryFn: ({ pageParam, signal }) => {
      const query = { limit: PAGE_ITEMS, ...(pageParam ? { nextToken: pageParam } : {}) };
      return read(api.GET("/share/devices", { params: { query }, headers: bearer(secret), signal }));
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.nextToken ?? undefined,
    refetchInterval: REFRESH_MS,
  });
}

function Seen({ at }: { at: string | undefined }) {
  const now = useNow();
  const moment = momentOf(at);
  return <span className="ink-2">{moment === null ? t("neverReported") : t("reportedMoment", { moment: ago(moment, now) })}</span>;
}

function Tile({ column, value }: { column: Column; value: Schemas["SharedValue"] | undefined }) {
  return (
    <li className="shared-tile">
      <div className="ink-2">{measurementLabel(column)}</div>
      <div className="shared-figure">
        {valueText(value?.value, column.decimals)} {column.unit && <span className="ink-2">{column.unit}</span>}
      </div>
      <div className="ink-2">
        {value?.isStale && (
          <Pill tone="warn" title={t("deviceShouldHaveReportedSince")}>
            {t("stale")}
          </Pill>
        )}{" "}
        {value && <TimeText at={value.timestamp} withAgo precision="minute" />}
      </div>
    </li>
  );
}

function DeviceView({ secret, name }: { secret: string; name: string }) {
  const query = useDevices(secret);
  useEnded(query.error);
  const page = query.data?.pages[0];
  const row = page?.items[0];
  if (!page || !row) return query.isError ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : <Loading rows={4} />;
  return (
    <>
      <p>
        {row.deviceName !== name && <strong>{row.deviceName} </strong>}
        <Seen at={row.seenAt} />
      </p>
      {page.columns.length > 0 ? (
        <ul className="shared-tiles">
          {page.columns.map((each) => (
            <Tile key={each.name} column={each} value={row.values[each.name]} />
          ))}
        </ul>
      ) : (
        <Empty text={t("ItHasMeasuredNothingYet")} />
      )}
      {row.position && (
        <Suspense fallback={<Loading rows={4} />}>
          <div className="shared-map shared-map-small">
            <SharedMap positions={[row.position]} />
          </div>
        </Suspense>
      )}
    </>
  );
}

function ListRow({ row, columns }: { row: Row; columns: readonly Column[] }) {
  return (
    <tr>
      <td>{row.deviceName}</td>
      {columns.map(({ name, unit, decimals, label }) => {
        const value = row.values[name];
        return (
          <td key={name} className="number" data-label={measurementLabel({ name, label })}>
            {value ? (
              <span title={value.timestamp}>
                {valueText(value.value, decimals)} {unit && <span className="ink-2">{unit}</span>}
              </span>
            ) : (
              <span className="ink-3">–</span>
            )}
          </td>
        );
      })}
      <td data-label={t("LastSeen")}>
        <Seen at={row.seenAt} />
      </td>
    </tr>
  );
}

function ListView({ secret, name }: { secret: string; name: string }) {
  const query = useDevices(secret);
  useEnded(query.error);
  const pages = query.data?.pages;
  const first = pages?.[0];
  if (!first) return query.isError ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : <Loading rows={8} />;
  const rows = pages.flatMap((each) => each.items);
  // A page may have no device that has a value, and does not know what it is called then.
  const columns = first.columns.map((each, index) => pages.map((page) => page.columns[index]).find((column) => column?.class) ?? each);
  return (
    <div className="card shared-list">
      <table className="plain stacked" aria-label={name}>
        <thead>
          <tr>
            <th>{t("Device")}</th>
            {columns.map((each) => (
              <th key={each.name} className="number">
                {measurementLabel(each)}
              </th>
            ))}
            <th>{t("LastSeen")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <ListRow key={index} row={row} columns={columns} />
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <Empty text={t("NoDeviceIsInThisList")} />}
      {query.hasNextPage && (
        <p className="shared-more">
          <Button disabledReason={query.isFetchingNextPage ? t("OneMoment") : undefined} onClick={() => void query.fetchNextPage()}>
            {t("ShowMoreOfTotal", { total: first.total })}
          </Button>
        </p>
      )}
    </div>
  );
}

// --- a map ---

async function readPositions(secret: string, signal: AbortSignal): Promise<Schemas["SharedPosition"][]> {
  const found: Schemas["SharedPosition"][] = [];
  let nextToken: string | undefined;
  do {
    const query = { limit: 1_000, ...(nextToken ? { nextToken } : {}) };
    const page = await read(api.GET("/share/positions", { params: { query }, headers: bearer(secret), signal }));
    found.push(...page.items);
    nextToken = page.nextToken;
  } while (nextToken);
  return found;
}

function MapView({ secret }: { secret: string }) {
  const query = useQuery({
    queryKey: ["shared-positions", secret],
    queryFn: ({ signal }) => readPositions(secret, signal),
    // A large one is several requests.
    refetchInterval: ({ state }) => REFRESH_MS * (1 + Math.floor((state.data?.length ?? 0) / 2_000)),
  });
  useEnded(query.error);
  if (!query.data) return query.isError ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : <Loading rows={8} />;
  return (
    <Suspense fallback={<Loading rows={8} />}>
      <div className="shared-map">
        <SharedMap positions={query.data} />
      </div>
    </Suspense>
  );
}

// --- the page ---

function Content({ secret, view }: { secret: string; view: Schemas["SharedView"] }) {
  if (view.content === "chart") return <ChartView secret={secret} name={view.name} />;
  if (view.content === "device") return <DeviceView secret={secret} name={view.name} />;
  if (view.content === "list") return <ListView secret={secret} name={view.name} />;
  return <MapView secret={secret} />;
}

function Closed({ words }: { words: string }) {
  return (
    <div className="shared-note" role="alert">
      <p>
        <strong>{words}</strong>
      </p>
      <p className="ink-2">{t("AskWhoeverGaveItToYou")}</p>
    </div>
  );
}

function Opened({ secret }: { secret: string }) {
  const query = useQuery({
    queryKey: ["shared-view", secret],
    queryFn: ({ signal }) => read(api.GET("/share/link", { headers: bearer(secret), signal })),
    // That it has ended is said by what it shows, and each of these requests is counted as a use.
    refetchInterval: REFRESH_MS * 60,
  });
  const view = query.data;
  useEffect(() => {
    if (view) document.title = view.name;
  }, [view]);
  if (query.error instanceof ApiProblem && query.error.status === 401) return <Closed words={t("ThisLinkIsInvalidOrWas")} />;
  if (!view) return query.isError ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : <Loading rows={8} />;
  return (
    <>
      <header className="shared-head">
        <h1>{view.name}</h1>
      </header>
      {view.state === "open" ? <Content secret={secret} view={view} /> : <Closed words={CLOSED_WORDS[view.state]} />}
      <footer className="shared-foot ink-3">
        {t.rich("sharedUntilTimeLongwire", { time: <TimeText at={view.expiresAt} precision="day" /> })}
      </footer>
    </>
  );
}

// Whoever embeds it may choose its colours.
function useChosenTheme(): void {
  const [theme] = useState(() => new URLSearchParams(window.location.search).get("theme"));
  useEffect(() => {
    if (theme === "light" || theme === "dark") showTheme(theme);
  }, [theme]);
}

export function SharedPage() {
  useChosenTheme();
  const secret = useFragmentSecret(secretOf, true);
  return (
    <main className="shared">
      {secret === null && <Closed words={t("addressOfThisPageHasNo")} />}
      {secret && <Opened key={secret} secret={secret} />}
    </main>
  );
}
