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
      <summary>Show</summary>
      <pre tabIndex={0}>{device.payload}</pre>
    </details>
  );
}

function Row({ device, hasGroup, mayCreate, onCreate, onDismiss }: { device: UnknownDevice; hasGroup: boolean; mayCreate: boolean; onCreate: () => void; onDismiss: () => void }) {
  const words = reasonWords(device.reason);
  const about = device.originalId || "uplinks without an id";
  return (
    <tr>
      <td>
        {device.originalId ? <code>{device.originalId}</code> : <span className="ink-2">no id</span>}
        <div className="ink-2">{device.network || "posted by an app client"}</div>
      </td>
      {hasGroup && (
        <td data-label="Group">
          <GroupName groupId={device.groupId} />
        </td>
      )}
      <td data-label="Why">
        <Pill tone={words.tone}>{words.state}</Pill>
        <div className="ink-2">{device.detail ?? words.advice}</div>
      </td>
      <td data-label="Uplinks" className="number">
        {device.count.toLocaleString("en")}
      </td>
      <td data-label="Last" className="unknown-last">
        <TimeText at={device.lastAt} withAgo precision="minute" />
      </td>
      <td data-label="Last uplink">
        <Message device={device} />
      </td>
      <td className="row-actions">
        {mayCreate && (
          <div className="form-actions">
            {canBeCreated(device) && (
              <Button look="primary" onClick={onCreate} aria-label={`Create this device: ${about}`}>
                Create
              </Button>
            )}
            <Button writes onClick={onDismiss} aria-label={`Dismiss ${about}`}>
              Dismiss
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
    dismiss([device], `Dismissing ${originalId || "uplinks without an id"}; what reports again comes back.`, () =>
      read(api.DELETE("/group/unknownDevices", { params: { query: named } })),
    );
  };
  const rows = query.data?.pages.flatMap((page) => page.items) ?? [];
  const shown = rows.filter((each) => !hidden.has(keyOf(each)));
  const dismissAll = () =>
    dismiss(rows, "Dismissing all; what reports again comes back.", () =>
      read(api.DELETE("/group/unknownDevices", { params: { query: { groupId, subgroups: withBelow } } })),
    );
  return (
    <>
      <PageHeader
        title="Unknown devices"
        above={
          <Link to="/g/$groupId/devices" params={{ groupId }}>
            Devices of <GroupName groupId={groupId} />
          </Link>
        }
        state={query.data && <span className="ink-2 number">{shown.length.toLocaleString("en")}{query.hasNextPage && " or more"}</span>}
        below="What arrived with the token of the group in the last seven days, and became no record."
        actions={mayCreate && shown.length > 1 && <Button writes onClick={dismissAll}>Dismiss all</Button>}
      />
      <QueryView query={query} operation="GET /group/unknownDevices" groupId={groupId} noun="group">
        {() =>
          shown.length === 0 ? (
            <Empty
              text="Whatever reported in the last seven days is a device of this group. If a device is silent nonetheless, its uplinks do not reach the service: look at its network, and at the URL and token there."
              action={!withBelow && <Button onClick={() => setWithBelow(true)}>With groups below</Button>}
              curl={`curl -H "Authorization: Bearer $TOKEN" \\
  "${SERVICE_URL}/group/unknownDevices?groupId=${groupId}&subgroups=true"`}
            />
          ) : (
            <div className="card">
              <table className="plain stacked unknown" aria-label="Unknown devices">
                <thead>
                  <tr>
                    <th>Original id</th>
                    {withBelow && <th>Group</th>}
                    <th>Why</th>
                    <th>Uplinks</th>
                    <th>Last</th>
                    <th>Last uplink</th>
                    <th>
                      <span className="visually-hidden">Actions</span>
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
              {query.hasNextPage && <Button onClick={() => void query.fetchNextPage()}>Show more</Button>}
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
    <Guarded groupId={groupId} operation="GET /group/unknownDevices" title="Unknown devices" what="devices">
      <UnknownDevices />
    </Guarded>
  );
}
