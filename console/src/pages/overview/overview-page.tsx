// How a group is: four figures, its messages over time, what needs attention, what was changed.
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { Guarded } from "~/frame/guarded";
import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "~/api/client";
import { mayCall, useRights, type Rights } from "~/api/may";
import { groupQuery, overviewQuery } from "~/api/queries";
import { GroupLine } from "~/frame/group-name";
import { useRange, useScope } from "~/frame/page-state";
import { usePaused } from "~/live/pause";
import { KINDS } from "~/live/rates";
import { actionWords } from "~/pages/audit/actions";
import { UndoButton } from "~/pages/audit/entry-drawer";
import { ObjectLink } from "~/pages/audit/object-link";
import { isRelative, rangeLabel, spanOf, type Span, type TimeRange } from "~/time";
import { differencesOf } from "~/ui/diff-data";
import { Card, PageHeader } from "~/ui/page";
import { KIND_LABELS, Pill } from "~/ui/pill";
import { Series } from "~/ui/series";
import { ErrorState, Loading, QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { FirstSteps } from "./first-steps";
import { sampleQuery } from "./sample";
import { SampleBar } from "./sample-bar";
import { bucketsOf, groupMetricsQuery, groupTotalsQuery, lastChangesQuery } from "./queries";
import { attentionWords, bucketWords, changeOf, deliveredPercent, figure, type Attention } from "./words";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/overview";
import "./overview.css";

const route = getRouteApi("/frame/g/$groupId/overview");
const MOVE_MS = 15_000;

// A relative range moves on, except while the page is paused.
function useMovingSpan(): Span {
  const { range } = useRange();
  const isPaused = usePaused();
  const [now, setNow] = useState(Date.now);
  const isMoving = isRelative(range) && !isPaused;
  useEffect(() => {
    setNow(Date.now());
    if (!isMoving) return;
    const timer = setInterval(() => setNow(Date.now()), MOVE_MS);
    return () => clearInterval(timer);
  }, [isMoving, range]);
  return useMemo(() => spanOf(range, now), [range, now]);
}

function Overview() {
  const { groupId } = route.useParams();
  const rights = useRights(groupId);
  const group = useQuery(groupQuery(groupId));
  if (group.isError) return <ErrorState error={group.error} noun="group" onRetry={() => void group.refetch()} />;
  return (
    <>
      <PageHeader title={t("Overview")} above={<GroupLine groupId={groupId} />} />
      {rights.isKnown && <Parts key={groupId} groupId={groupId} rights={rights} />}
    </>
  );
}

function Parts({ groupId, rights }: { groupId: string; rights: Rights }) {
  const { withBelow } = useScope();
  const overview = useQuery(overviewQuery(groupId, withBelow));
  const mayList = mayCall(rights, "GET /devices");
  const samples = useQuery({ ...sampleQuery(groupId), enabled: mayList });
  const isAsked = mayList && samples.isPending;
  const sample = samples.data ?? null;
  const span = useMovingSpan();
  return (
    <QueryView query={overview} operation="GET /group/overview" groupId={groupId} noun="group" skeletonRows={10}>
      {(data) => (
        <>
          {sample && <SampleBar device={sample} rights={rights} />}
          {!isAsked && <FirstSteps groupId={groupId} rights={rights} overview={data} sample={sample} />}
          <Figures groupId={groupId} overview={data} span={span} />
          <MessagesByKind groupId={groupId} span={span} />
          <div className="overview-pair">
            <NeedsAttention groupId={groupId} items={data.attention} asOf={data.asOf} />
            {mayCall(rights, "GET /group/audit") && <LastChanges groupId={groupId} />}
          </div>
        </>
      )}
    </QueryView>
  );
}

function Figure({ label, value, children }: { label: string; value: ReactNode; children: ReactNode }) {
  return (
    <section className="card overview-figure" aria-label={label}>
      <h2>{label}</h2>
      <p className="figure">{value}</p>
      <p className="overview-note">{children}</p>
    </section>
  );
}

const UNKNOWN = <span className="ink-3">–</span>;

function Figures({ groupId, overview, span }: { groupId: string; overview: Schemas["GroupOverview"]; span: Span }) {
  const { range } = useRange();
  const { withBelow } = useScope();
  const { devices, connectors } = overview;
  const length = span.end - span.begin;
  const now = useQuery(groupMetricsQuery(groupId, bucketsOf(span), withBelow));
  const before = useQuery(groupTotalsQuery(groupId, { begin: span.begin - length, end: span.begin }, withBelow));
  const messages = now.data?.totalDeviceMessage ?? 0;
  const compared = now.data && before.data ? changeOf(messages, before.data.totalDeviceMessage ?? 0) : null;
  const delivered = now.data ? deliveredPercent(now.data.totalConnectorMessageProcessed ?? 0, now.data.totalConnectorMessageError ?? 0) : null;
  const label = rangeLabel(range, "");
  const period = label.charAt(0).toLocaleLowerCase(LOCALE) + label.slice(1);
  return (
    <div className="cards overview-figures">
      {devices && (
        <Figure label={t("DevicesSeenToday")} value={devices.seenDay === null || devices.seenDay === undefined ? UNKNOWN : figure(devices.seenDay)}>
          {t("ofTotal", { total: figure(devices.total) })}
          {devices.seenDay !== null && devices.seenDay !== undefined && devices.total > 0 && ` · ${Math.floor((devices.seenDay / devices.total) * 100)} %`}
        </Figure>
      )}
      {devices && (
        <Figure label={t("Silent")} value={devices.silent === null || devices.silent === undefined ? UNKNOWN : figure(devices.silent)}>
          {(devices.silent ?? 0) > 0 ? (
            <Link to="/g/$groupId/devices" params={{ groupId }} search={{ seen: "silent" }}>
              {t("ListThem")}
            </Link>
          ) : (
            t("noneLongerThanItShouldBe")
          )}
          {(devices.never ?? 0) > 0 && ` ${t("neverSeen", { count: devices.never ?? 0 })}`}
        </Figure>
      )}
      <Figure label={t("Records")} value={now.data ? figure(messages) : UNKNOWN}>
        {range.to === "now" ? period : t("inChosenRange")}
        {compared !== null && ` ${t("comparedVsBefore", { compared })}`}
      </Figure>
      {connectors && (
        <Figure label={t("Delivered")} value={delivered ?? UNKNOWN}>
          {delivered === null && connectors.waiting === 0 && connectors.deadLetters === 0
            ? t("nothingWasForwarded")
            : t("waitingAndDeadLetters", { waiting: capped(connectors.waiting), deadLetters: capped(connectors.deadLetters) })}
        </Figure>
      )}
    </div>
  );
}

const COUNTED_MAX = 100_000;

function capped(count: number): string {
  return count >= COUNTED_MAX ? t("orMore", { most: figure(COUNTED_MAX) }) : figure(count);
}

const FIELDS = { data: "totalDeviceData", telemetry: "totalDeviceTelemetry", geoloc: "totalDeviceGeoloc", event: "totalDeviceEvent" } as const;

function MessagesByKind({ groupId, span }: { groupId: string; span: Span }) {
  const { range, setRange } = useRange();
  const { withBelow } = useScope();
  const navigate = useNavigate();
  const zoomedFrom = useRef<TimeRange[]>([]);
  const zoom = ({ begin, end }: Span) => {
    zoomedFrom.current.push(range);
    setRange({ from: new Date(begin).toISOString(), to: new Date(end).toISOString() });
  };
  const back = () => {
    const before = zoomedFrom.current.pop();
    if (before) setRange(before);
  };
  const buckets = useMemo(() => bucketsOf(span), [span]);
  const query = useQuery(groupMetricsQuery(groupId, buckets, withBelow));
  const drawn = useMemo(() => {
    const items = query.data?.items ?? [];
    return {
      times: items.map((each) => Date.parse(each.timestamp ?? "")),
      series: KINDS.map((kind) => ({ id: kind, label: KIND_LABELS[kind], color: `--kind-${kind}`, values: items.map((each) => each[FIELDS[kind]] ?? 0) })),
    };
  }, [query.data]);
  return (
    <Card title={t("RecordsByKind")} note={t("arrivalDragToZoom", { per: bucketWords(buckets.seconds) })}>
      {query.isError && !query.data ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} operation="GET /group/metrics" groupId={groupId} />
      ) : (
        <Series
          label={t("RecordsByKind")}
          look="bars"
          isLoading={query.data === undefined}
          times={drawn.times}
          series={drawn.series}
          bucketMs={buckets.seconds * 1_000}
          span={span}
          onRange={zoom}
          onBack={back}
          onPick={({ end }) => void navigate({ to: "/g/$groupId/live", params: { groupId }, search: { until: new Date(end).toISOString() } })}
        />
      )}
    </Card>
  );
}

const SHOWN_MAX = 8;

function NeedsAttention({ groupId, items, asOf }: { groupId: string; items: readonly Attention[]; asOf: string }) {
  const [showsAll, setShowsAll] = useState(false);
  const shown = showsAll ? items : items.slice(0, SHOWN_MAX);
  return (
    <Card title={t("NeedsAttention")} note={<>{t.rich("asOfTime", { time: <TimeText at={asOf} precision="minute" /> })}</>}>
      {items.length === 0 && <p className="ink-2">{t("NothingDoesNoConnectorFailsNo")}</p>}
      <ul className="overview-list">
        {shown.map((item, index) => (
          <AttentionRow key={`${item.what} ${item.id ?? item.groupId} ${index}`} item={item} groupId={groupId} />
        ))}
      </ul>
      {items.length > shown.length && (
        <button type="button" className="link" onClick={() => setShowsAll(true)}>
          {t("countMore", { count: items.length - shown.length })}
        </button>
      )}
    </Card>
  );
}

function AttentionRow({ item, groupId }: { item: Attention; groupId: string }) {
  const group = useQuery(groupQuery(item.groupId));
  const words = attentionWords(item, item.groupId === groupId ? null : (group.data?.name ?? null));
  const parts: ReactNode[] = [];
  if (item.detail) parts.push(item.detail);
  if (item.since) parts.push(<>{t.rich("sinceTime", { time: <TimeText at={item.since} precision="minute" /> })}</>);
  if (item.what === "connectorFailing" && item.groupId !== groupId && group.data?.name) parts.push(<>{t("inName", { name: group.data.name })}</>);
  return (
    <li>
      <Pill tone={words.tone}>{words.state}</Pill>
      <div className="overview-what">
        <strong>{words.title}</strong>
        {parts.length > 0 && (
          <p className="ink-2">
            {parts.map((part, index) => (
              <span key={index}>
                {index > 0 && " · "}
                {part}
              </span>
            ))}
          </p>
        )}
      </div>
      <AttentionLink item={item} label={words.action} subject={words.title} />
    </li>
  );
}

function AttentionLink({ item, label, subject }: { item: Attention; label: string; subject: string }) {
  const { groupId } = item;
  const common = { className: "button button-normal", "aria-label": `${label}: ${subject}` };
  if (item.id && item.what === "conditionFailing")
    return (
      <Link to="/g/$groupId/notifications/$notificationId" params={{ groupId, notificationId: item.id }} {...common}>
        {label}
      </Link>
    );
  if (item.id)
    return (
      <Link to="/g/$groupId/connectors/$connectorId" params={{ groupId, connectorId: item.id }} {...common}>
        {label}
      </Link>
    );
  if (item.what === "configurationDrift")
    return (
      <Link to="/g/$groupId/drift" params={{ groupId }} {...common}>
        {label}
      </Link>
    );
  if (item.what === "unknownDevices" || item.what === "rejectedMessages")
    return (
      <Link to="/g/$groupId/unknown-devices" params={{ groupId }} {...common}>
        {label}
      </Link>
    );
  const search = item.what === "batteryLow" ? ({ battery: "20" } as const) : ({ seen: "silent" } as const);
  return (
    <Link to="/g/$groupId/devices" params={{ groupId }} search={search} {...common}>
      {label}
    </Link>
  );
}

const LINES_MAX = 2;
const LINE_CHARS = 80;

function shorten(text: string): string {
  return text.length > LINE_CHARS ? `${text.slice(0, LINE_CHARS)}…` : text;
}

function LastChanges({ groupId }: { groupId: string }) {
  const { withBelow } = useScope();
  const query = useQuery(lastChangesQuery(groupId, withBelow));
  return (
    <Card
      title={t("AuditLog")}
      note={
        <Link to="/g/$groupId/audit" params={{ groupId }}>
          {t("AllChanges")}
        </Link>
      }
    >
      {query.data ? (
        <>
          {query.data.items.length === 0 && <p className="ink-2">{t("NobodyHasChangedAnythingHereYet")}</p>}
          <ul className="overview-list overview-changes">
            {query.data.items.map((entry) => (
              <ChangeRow key={entry.id} entry={entry} />
            ))}
          </ul>
        </>
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} operation="GET /group/audit" groupId={groupId} />
      ) : (
        <Loading rows={4} />
      )}
    </Card>
  );
}

function ChangeRow({ entry }: { entry: Schemas["AuditEntry"] }) {
  const differences = entry.before && entry.after ? differencesOf(entry.before, entry.after).slice(0, LINES_MAX) : [];
  return (
    <li>
      <TimeText at={entry.timestamp} withAgo precision="clock" />
      <div className="overview-what">
        <p>
          <strong>{entry.actorName ?? entry.actorId}</strong> {actionWords(entry.action)} <ObjectLink entry={entry} />
        </p>
        {differences.map((each) => (
          <div key={each.field} className="overview-diff">
            {each.before !== null && (
              <del>
                − {each.field} {shorten(each.before)}
              </del>
            )}
            {each.after !== null && (
              <ins>
                + {each.field} {shorten(each.after)}
              </ins>
            )}
          </div>
        ))}
      </div>
      <UndoButton entry={entry} />
    </li>
  );
}

export function OverviewPage() {
  const { groupId } = route.useParams();
  return (
    <Guarded groupId={groupId} operation="GET /group/overview" title={t("Overview")}>
      <Overview />
    </Guarded>
  );
}
