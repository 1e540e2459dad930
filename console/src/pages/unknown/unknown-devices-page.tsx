// What arrived with the token of a group, and is about none of its devices.
import { useState } from "react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { Guarded } from "~/frame/guarded";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { queryClient } from "~/api/queries";
import { SERVICE_URL } from "~/base-path";
import { GroupName } from "~/frame/group-name";
import { useScope } from "~/frame/page-state";
import { Button } from "~/ui/button";
import { PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { Empty, QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { hold } from "~/ui/toast";
import { CreateDialog } from "./create-dialog";
import { canBeCreated, keyOf, reasonWords, type UnknownDevice } from "./words";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/unknown";
import "./unknown.css";

const route = getRouteApi("/frame/g/$groupId/unknown-devices");
const PAGE_ITEMS = 200;
const REFRESH_MS = 10_000;

const refresh = async () => {
  await queryClient.invalidateQueries({ queryKey: ["unknown-devices"] });
  await queryClient.invalidateQueries({ queryKey: ["overview"] });
};

function Message({ device }: { device: UnknownDevice }) {
  if (!device.payload) return <span className="ink-3">–</span>;
  return (
    <details className="unknown-message">
      <summary>{t("Show")}</summary>
      <pre tabIndex={0}>{device.payload}</pre>
    </details>
  );
}

function Row({ device, hasGroup, mayCreate, onCreate, onDismiss }: { device: UnknownDevice; hasGroup: boolean; mayCreate: boolean; onCreate: () => void; onDismiss: () => void }) {
  const words = reasonWords(device.reason);
  const about = device.originalId || t("uplinksWithoutId");
  return (
    <tr>
      <td>
        {device.originalId ? <code>{device.originalId}</code> : <span className="ink-2">{t("noId")}</span>}
        <div className="ink-2">{device.network || t("postedByAppClient")}</div>
      </td>
      {hasGroup && (
        <td data-label={t("Group")}>
          <GroupName groupId={device.groupId} />
        </td>
      )}
      <td data-label={t("Why")}>
        <Pill tone={words.tone}>{words.state}</Pill>
        <div className="ink-2">{device.detail ?? words.advice}</div>
      </td>
      <td data-label={t("Uplinks")} className="number">
        {device.count.toLocaleString(LOCALE)}
      </td>
      <td data-label={t("Last")} className="unknown-last">
        <TimeText at={device.lastAt} withAgo precision="minute" />
      </td>
      <td data-label={t("LastUplink")}>
        <Message device={device} />
      </td>
      <td className="row-actions">
        {mayCreate && (
          <div className="form-actions">
            {canBeCreated(device) && (
              <Button look="primary" onClick={onCreate} aria-label={t("CreateThisDeviceAbout", { about })}>
                {t("Create")}
              </Button>
            )}
            <Button writes onClick={onDismiss} aria-label={t("DismissAbout", { about })}>
              {t("Dismiss")}
            </Button>
          </div>
        )}
      </td>
    </tr>
  );
}

function UnknownDevices() {
  const { groupId } = route.useParams();
  const { withBelow, setWithBelow } = useScope();
  const mayCreate = useMay(groupId, "POST /device");
  const [created, setCreated] = useState<UnknownDevice | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const query = useInfiniteQuery({
    queryKey: ["unknown-devices", groupId, withBelow],
    queryFn: ({ pageParam, signal }) =>
      read(api.GET("/group/unknownDevices", { params: { query: { groupId, subgroups: withBelow, limit: PAGE_ITEMS, nextToken: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextToken ?? undefined,
    refetchInterval: REFRESH_MS,
  });
  const show = (keys: readonly string[]) => setHidden((known) => new Set([...known].filter((each) => !keys.includes(each))));
  const dismiss = (devices: readonly UnknownDevice[], text: string, request: () => Promise<unknown>) => {
    const keys = devices.map(keyOf);
    setHidden((known) => new Set([...known, ...keys]));
    hold(
      text,
      async () => {
        await request();
        await refresh();
        show(keys);
      },
      () => show(keys),
    );
  };
  const dismissOne = (device: UnknownDevice) => {
    const { network, originalId } = device;
    const named = { groupId: device.groupId, network, originalId };
    dismiss([device], originalId ? t("DismissingId", { id: originalId }) : t("DismissingUplinksWithoutId"), () =>
      read(api.DELETE("/group/unknownDevices", { params: { query: named } })),
    );
  };
  const rows = query.data?.pages.flatMap((page) => page.items) ?? [];
  const shown = rows.filter((each) => !hidden.has(keyOf(each)));
  const dismissAll = () =>
    dismiss(rows, t("DismissingAllWhatReportsAgainComes"), () =>
      read(api.DELETE("/group/unknownDevices", { params: { query: { groupId, subgroups: withBelow } } })),
    );
  return (
    <>
      <PageHeader
        title={t("UnknownDevices")}
        above={
          <Link to="/g/$groupId/devices" params={{ groupId }}>
            {t.rich("DevicesOfGroup", { group: <GroupName groupId={groupId} /> })}
          </Link>
        }
        state={query.data && <span className="ink-2 number">{query.hasNextPage ? t("numberOrMore", { number: shown.length }) : shown.length.toLocaleString(LOCALE)}</span>}
        below={t("WhatArrivedWithTokenOfGroup")}
        actions={mayCreate && shown.length > 1 && <Button writes onClick={dismissAll}>{t("DismissAll")}</Button>}
      />
      <QueryView query={query} operation="GET /group/unknownDevices" groupId={groupId} noun="group">
        {() =>
          shown.length === 0 ? (
            <Empty
              text={t("WhateverReportedInLastSevenDays")}
              action={!withBelow && <Button onClick={() => setWithBelow(true)}>{t("WithGroupsBelow")}</Button>}
              curl={`curl -H "Authorization: Bearer $TOKEN" \\
  "${SERVICE_URL}/group/unknownDevices?groupId=${groupId}&subgroups=true"`}
            />
          ) : (
            <div className="card">
              <table className="plain stacked unknown" aria-label={t("UnknownDevices")}>
                <thead>
                  <tr>
                    <th>{t("OriginalId")}</th>
                    {withBelow && <th>{t("Group")}</th>}
                    <th>{t("Why")}</th>
                    <th>{t("Uplinks")}</th>
                    <th>{t("Last")}</th>
                    <th>{t("LastUplink")}</th>
                    <th>
                      <span className="visually-hidden">{t("Actions")}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {shown.map((device) => (
                    <Row
                      key={keyOf(device)}
                      device={device}
                      hasGroup={withBelow}
                      mayCreate={mayCreate}
                      onCreate={() => setCreated(device)}
                      onDismiss={() => dismissOne(device)}
                    />
                  ))}
                </tbody>
              </table>
              {query.hasNextPage && <Button onClick={() => void query.fetchNextPage()}>{t("ShowMore")}</Button>}
            </div>
          )
        }
      </QueryView>
      {created && <CreateDialog device={created} onClose={() => setCreated(null)} />}
    </>
  );
}

export function UnknownDevicesPage() {
  const { groupId } = route.useParams();
  return (
    <Guarded groupId={groupId} operation="GET /group/unknownDevices" title={t("UnknownDevices")}>
      <UnknownDevices />
    </Guarded>
  );
}
