// Devices that report another configuration than they should have, and what differs.
import { useMemo } from "react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { Guarded } from "~/frame/guarded";
import { api, read, type Schemas } from "~/api/client";
import { SERVICE_URL } from "~/base-path";
import { GroupName } from "~/frame/group-name";
import { useScope } from "~/frame/page-state";
import { Button } from "~/ui/button";
import { PageHeader } from "~/ui/page";
import { Empty, ErrorState, Loading } from "~/ui/state";
import { Table, type Column } from "~/ui/table";
import { TimeText } from "~/ui/time-text";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/drift";
import "~/pages/devices/devices.css";
import "./drift.css";

type Drifting = Schemas["DriftingDevice"];

const route = getRouteApi("/frame/g/$groupId/drift");
const SHOWN_MAX = 3;

function valueText(value: unknown): string {
  return value === undefined ? t("nothing") : JSON.stringify(value);
}

function Differences({ device }: { device: Drifting }) {
  const text = device.differences.map((each) => t("pathShouldBeExpectedReportsReported", { path: each.path, expected: valueText(each.expected), reported: valueText(each.reported) }));
  const rest = text.length - SHOWN_MAX;
  return (
    <span title={text.join("\n")}>
      {device.differences.slice(0, SHOWN_MAX).map((each) => (
        <span key={each.path} className="difference">
          <code>{each.path.slice(1)}</code>{" "}
          <span className="ink-2">{t.rich("expectedReportsReported", { expected: <ins>{valueText(each.expected)}</ins>, reported: <del>{valueText(each.reported)}</del> })}</span>
        </span>
      ))}
      {rest > 0 && <span className="ink-2">{t("andRestMore", { rest })}</span>}
    </span>
  );
}

const COLUMNS: readonly Column<Drifting>[] = [
  {
    id: "name",
    head: t("Device"),
    width: "minmax(120px, 1fr)",
    card: "title",
    cell: (device) => (
      <Link to="/d/$deviceId" params={{ deviceId: device.deviceId }} search={{ tab: "configuration" }} className="row-link">
        {device.name}
      </Link>
    ),
  },
  { id: "type", head: t("Type"), width: "minmax(90px, 0.5fr)", cell: (device) => device.type },
  { id: "group", head: t("Group"), width: "minmax(80px, 0.5fr)", cell: (device) => <GroupName groupId={device.groupId} /> },
  { id: "differences", head: t("ShouldBeAndReports"), width: "minmax(220px, 4fr)", card: "wide", cell: (device) => <Differences device={device} /> },
  { id: "since", head: t("DriftsSince"), width: "228px", cell: (device) => <TimeText at={device.since} withAgo precision="minute" none={t("notKnown")} /> },
];

function Drift() {
  const { groupId } = route.useParams();
  const { withBelow, setWithBelow } = useScope();
  const navigate = useNavigate();
  const query = useInfiniteQuery({
    queryKey: ["drift", groupId, withBelow],
    queryFn: ({ pageParam, signal }) =>
      read(api.GET("/group/drift", { params: { query: { groupId, subgroups: withBelow, limit: 100, nextToken: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextToken ?? undefined,
  });
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  return (
    <>
      <PageHeader
        title={t("ConfigurationDrift")}
        above={
          <Link to="/g/$groupId/devices" params={{ groupId }}>
            {t.rich("DevicesOfGroup", { group: <GroupName groupId={groupId} /> })}
          </Link>
        }
        state={query.data && <span className="ink-2 number">{query.hasNextPage ? t("countOrMore", { count: rows.length }) : rows.length.toLocaleString(LOCALE)}</span>}
        below={t("DevicesWhoseDataRecordsReportAnother")}
      />
      {query.isFetching && !query.isPending && <div className="refreshing" aria-hidden="true" />}
      {query.data ? (
        rows.length > 0 ? (
          <Table
            label={t("DevicesThatDrift")}
            rows={rows}
            columns={COLUMNS}
            rowKey={(device) => device.deviceId}
            onOpen={(device) => void navigate({ to: "/d/$deviceId", params: { deviceId: device.deviceId }, search: { tab: "configuration" } })}
            onEndReached={query.hasNextPage && !query.isFetchingNextPage ? () => void query.fetchNextPage() : undefined}
            isLoadingMore={query.isFetchingNextPage}
          />
        ) : (
          <Empty
            text={t("EveryDeviceOfThisGroupThat")}
            action={!withBelow && <Button onClick={() => setWithBelow(true)}>{t("WithGroupsBelow")}</Button>}
            curl={`curl -H "Authorization: Bearer $TOKEN" \\
  "${SERVICE_URL}/group/drift?groupId=${groupId}&subgroups=true"`}
          />
        )
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} operation="GET /group/drift" groupId={groupId} noun="group" />
      ) : (
        <Loading />
      )}
    </>
  );
}

export function DriftPage() {
  const { groupId } = route.useParams();
  return (
    <Guarded groupId={groupId} operation="GET /group/drift" title={t("ConfigurationDrift")}>
      <Drift />
    </Guarded>
  );
}
