// One device: when it was last seen, what it sent, how it is configured, and what was done to it.
import { Suspense, lazy, useEffect, useState } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { SilenceDialog } from "~/alarms/silence-dialog";
import { deviceAlarmsQuery } from "~/alarms/queries";
import { api, read } from "~/api/client";
import { mayCall, useRights } from "~/api/may";
import type { Operation } from "~/api/permissions";
import { MoveDialog, TypeDialog } from "~/pages/devices/bulk-dialogs";
import type { BulkAction } from "~/pages/devices/bulk-actions";
import { silentAfterMs, silentSince } from "~/pages/devices/device-state";
import { BatteryText } from "~/pages/devices/devices-page";
import { ObjectChanges } from "~/pages/audit/object-changes";
import { useRange } from "~/frame/page-state";
import { isSample } from "~/pages/overview/sample";
import { SampleBar } from "~/pages/overview/sample-bar";
import { preferences, setPreference } from "~/preferences";
import { ShareDialog } from "~/share/share-dialog";
import { ago, distanceWords, duration } from "~/time";
import { Button } from "~/ui/button";
import { IdText } from "~/ui/copy";
import { Menu, type MenuItem } from "~/ui/menu";
import { PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { Loading, QueryView } from "~/ui/state";
import { Tabs, type Tab } from "~/ui/tabs";
import { TimeText, useNow } from "~/ui/time-text";
import { hold, showToast } from "~/ui/toast";
import { nameOr } from "~/ui/name";
import { ChartTab } from "./chart-tab";
import { ConfigurationTab } from "./configuration-tab";
import { DeleteRecordsDialog, HardwareDialog, RedecodeDialog, RenameDialog } from "./device-dialogs";
import { DownlinksTab, SendDialog } from "./downlinks-tab";
import { NowCard } from "./now";
import { OpenAlarms } from "./open-alarms";
import { deviceQuery, type Device } from "./queries";
import { RecordsTab } from "./records-tab";
import type { DeviceSearch, DeviceTab } from "./search";
import { TagEditor } from "./tag-editor";
import { deviceValuesQuery, useLiveValues } from "~/measurements/values";
import { t } from "~/messages/device";
import "~/pages/devices/devices.css";
import "./device.css";

const route = getRouteApi("/frame/d/$deviceId");

// The map is large, and most devices are looked at without it.
const MapTab = lazy(() => import("./map-tab"));

const TABS: readonly (Tab<DeviceTab> & { needs: Operation })[] = [
  { id: "records", label: t("Records"), needs: "GET /group/records" },
  { id: "chart", label: t("Chart"), needs: "GET /device/series" },
  { id: "map", label: t("Map"), needs: "GET /device/geoloc" },
  { id: "configuration", label: t("Configuration"), needs: "GET /device/configuration" },
  { id: "downlinks", label: t("Downlinks"), needs: "GET /device/downlinks" },
  { id: "changes", label: t("Changes"), needs: "GET /group/audit" },
];

// The groups from the topmost one that is visible down to the device's own.
function GroupPath({ groupId }: { groupId: string }) {
  const access = useQuery({
    queryKey: ["access", groupId, "device.read"],
    queryFn: ({ signal }) => read(api.GET("/access", { params: { query: { groupId, permission: "device.read" } }, signal })),
    staleTime: 60_000,
  });
  const path = access.data?.path.filter((step) => step.name || step.groupId === groupId) ?? [];
  return (
    <nav aria-label={t("Groups")} className="crumbs">
      {path.map((step, index) => (
        <span key={step.groupId}>
          {index > 0 && <span aria-hidden="true"> / </span>}
          <Link to="/g/$groupId/devices" params={{ groupId: step.groupId }}>
            {nameOr(step.name, step.groupId)}
          </Link>
        </span>
      ))}
    </nav>
  );
}

function SeenState({ device }: { device: Device }) {
  const now = useNow();
  const since = silentSince(device, now);
  const interval = silentAfterMs(device.configuration);
  return (
    <span className="device-state">
      {since !== null ? (
        <Pill tone="warn">{t("silentFor", { length: distanceWords(now - since) })}</Pill>
      ) : device.seenAt ? (
        <Pill tone="good">{t("seenAgo", { ago: ago(device.seenAt, now) })}</Pill>
      ) : (
        <Pill tone="idle">{t("neverSeen")}</Pill>
      )}
      {device.seenAt && <TimeText at={device.seenAt} />}
      {interval !== null && <span className="ink-2">{t("silentAfterLength", { length: duration(interval).replace(/ 0 (s|min)$/, "") })}</span>}
      {device.battery && (
        <span className="ink-2">
          {t.rich("batteryCharge", { charge: <BatteryText battery={device.battery} /> })}
        </span>
      )}
    </span>
  );
}

function useDeviceActions(device: Device) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const adopt = (next: Device) => {
    client.setQueryData(deviceQuery(device.deviceId).queryKey, next);
    for (const key of ["devices", "device-configuration", "audit"]) void client.invalidateQueries({ queryKey: [key] });
  };
  const fail = (error: unknown) => void showToast(error instanceof Error ? error.message : String(error), { tone: "bad" });
  const deviceId = device.deviceId;
  const transfer = (groupId: string, toGroupId: string) => read(api.PUT("/device/transfer", { body: { deviceId, groupId, toGroupId } }));
  const change = useMutation({
    mutationFn: async (action: BulkAction) => {
      if (action.kind === "transfer") {
        const moved = await transfer(device.groupId, action.toGroupId);
        return { next: moved, text: t("MovedNameToToName", { name: device.name, toName: action.toName }), undo: () => transfer(action.toGroupId, device.groupId) };
      }
      if (action.kind !== "type") throw new Error("Only moves and types are changed here.");
      const typed = await read(api.PUT("/device/type", { body: { deviceId, groupId: device.groupId, type: action.type, ifUpdatedAt: device.updatedAt } }));
      const back = { deviceIds: [deviceId], groupId: device.groupId, type: device.type, configuration: device.configuration ?? "" };
      const undo = async () => (await read(api.PUT("/devices", { body: back }))).items[0] ?? device;
      return { next: typed, text: t("nameIsTypeNow", { name: device.name, type: action.type }), undo };
    },
    onSuccess: ({ next, text, undo }) => {
      adopt(next);
      showToast(text, { action: { label: t("Undo"), run: () => undo().then(adopt).catch(fail) } });
    },
    onError: fail,
  });
  const remove = () => {
    hold(t("DeletingNameWithAllItsRecords", { name: device.name }), async () => {
      await read(api.DELETE("/device", { params: { query: { deviceId, groupId: device.groupId } } }));
      client.removeQueries({ queryKey: ["device", deviceId] });
      await client.invalidateQueries({ queryKey: ["devices"] });
    });
    void navigate({ to: "/g/$groupId/devices", params: { groupId: device.groupId } });
  };
  return { adopt, change: change.mutate, remove };
}

type DialogName = "send" | "move" | "type" | "rename" | "hardware" | "redecode" | "records" | "silence" | "share";

function Loaded({ device, search, set }: { device: Device; search: DeviceSearch; set: (change: Partial<DeviceSearch>) => void }) {
  const rights = useRights(device.groupId);
  const { span } = useRange();
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<DialogName | null>(null);
  const { adopt, change, remove } = useDeviceActions(device);
  useEffect(() => {
    // Who comes by a link has sections of some group around it.
    if (!preferences().lastGroup) setPreference("lastGroup", device.groupId);
  }, [device.groupId]);
  const may = (operation: Operation) => mayCall(rights, operation);
  const mayReadValues = may("GET /device/values");
  const values = useQuery({ ...deviceValuesQuery(device.deviceId), enabled: mayReadValues });
  const maySeeAlarms = may("GET /group/alarms");
  const alarms = useQuery({ ...deviceAlarmsQuery(device.groupId, device.deviceId), enabled: maySeeAlarms });
  const isAboveKnown = !maySeeAlarms || alarms.isFetched;
  useLiveValues(device.groupId, device.deviceId, mayReadValues);
  const tabs = TABS.filter((tab) => may(tab.needs));
  const tab = tabs.find((each) => each.id === search.tab)?.id ?? tabs[0]?.id ?? "configuration";
  const items: MenuItem[] = [
    ...(may("PUT /device") ? [{ label: t("Rename"), writes: true, onSelect: () => setDialog("rename") }] : []),
    ...(may("PUT /device") ? [{ label: t("ReplaceHardware"), writes: true, onSelect: () => setDialog("hardware") }] : []),
    ...(may("POST /alarm/silence") ? [{ label: t("SilenceAlarms"), writes: true, onSelect: () => setDialog("silence") }] : []),
    ...(may("POST /share") && mayReadValues ? [{ label: t("Share"), writes: true, onSelect: () => setDialog("share") }] : []),
    ...(may("PUT /device/type") ? [{ label: t("ChangeType"), writes: true, onSelect: () => setDialog("type") }] : []),
    ...(may("POST /device/redecode") ? [{ label: t("RedecodeRecords"), writes: true, onSelect: () => setDialog("redecode") }] : []),
    ...(may("DELETE /device/data") ? [{ label: t("DeleteRecords"), writes: true, look: "danger" as const, onSelect: () => setDialog("records") }] : []),
    ...(may("DELETE /device") ? [{ label: t("DeleteDevice"), writes: true, look: "danger" as const, onSelect: remove }] : []),
  ];
  const close = () => setDialog(null);
  const choose = (action: BulkAction) => {
    close();
    change(action);
  };
  return (
    <>
      <PageHeader
        title={nameOr(device.name, device.deviceId)}
        above={<GroupPath groupId={device.groupId} />}
        state={<SeenState device={device} />}
        below={
          <div className="device-facts">
            <IdText id={device.deviceId} />
            <span>
              {t.rich("idOnNetwork", { id: <code>{device.originalId}</code>, network: device.network })}
            </span>
            <span>
              <Link to="/types/$type" params={{ type: device.type }}>
                {device.type}
              </Link>
            </span>
            <TagEditor device={device} mayChange={may("PUT /device")} onChanged={adopt} />
          </div>
        }
        actions={
          <>
            {may("POST /device/downlink") && <Button writes onClick={() => setDialog("send")}>{t("SendDownlink")}</Button>}
            {may("PUT /device/transfer") && <Button writes onClick={() => setDialog("move")}>{t("Move")}</Button>}
            {items.length > 0 && <Menu label={<span aria-label={t("MoreActions")}>⋯</span>} items={items} />}
          </>
        }
      />
      {isSample(device) && (
        <SampleBar device={device} rights={rights} onDeleted={() => void navigate({ to: "/g/$groupId/overview", params: { groupId: device.groupId } })} />
      )}
      {maySeeAlarms && <OpenAlarms device={device} />}
      {mayReadValues && isAboveKnown && <NowCard device={device} />}
      {/* Not before what stands above is known: it would be pushed down. Once that has failed they stay:
          a tab that is opened asks again. */}
      {rights.isPending || !isAboveKnown || (mayReadValues && !values.isFetched) ? (
        <Loading rows={6} />
      ) : (
        <Tabs label={t("AboutDevice")} tabs={tabs} current={tab} onChoose={(id) => set({ tab: id, record: undefined })}>
          {tab === "records" && <RecordsTab device={device} search={search} set={set} />}
          {tab === "chart" && <ChartTab device={device} search={search} set={set} />}
          {tab === "map" && (
            <Suspense fallback={<Loading />}>
              <MapTab device={device} />
            </Suspense>
          )}
          {tab === "configuration" && <ConfigurationTab device={device} />}
          {tab === "downlinks" && <DownlinksTab device={device} onSend={() => setDialog("send")} />}
          {tab === "changes" && <ObjectChanges groupId={device.groupId} objectId={device.deviceId} noun="device" />}
        </Tabs>
      )}
      {dialog === "send" && <SendDialog device={device} onClose={close} />}
      {dialog === "move" && <MoveDialog count={1} onChoose={choose} onClose={close} />}
      {dialog === "type" && <TypeDialog count={1} onChoose={choose} onClose={close} />}
      {dialog === "rename" && <RenameDialog device={device} onChanged={adopt} onClose={close} />}
      {dialog === "hardware" && <HardwareDialog device={device} onChanged={adopt} onClose={close} />}
      {dialog === "redecode" && <RedecodeDialog device={device} span={span} onClose={close} />}
      {dialog === "silence" && <SilenceDialog groupId={device.groupId} device={{ id: device.deviceId, name: nameOr(device.name, device.deviceId) }} onClose={close} />}
      {dialog === "share" && (
        <ShareDialog groupId={device.groupId} name={nameOr(device.name, device.deviceId)} about={t("linkToCurrentValuesOfThis")} view={{ device: { deviceId: device.deviceId } }} onClose={close} />
      )}
      {dialog === "records" && <DeleteRecordsDialog device={device} onClose={close} />}
    </>
  );
}

export function DevicePage() {
  const { deviceId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(deviceQuery(deviceId));
  const set = (change: Partial<DeviceSearch>) => void navigate({ search: (before) => ({ ...before, ...change }) });
  return (
    <>
      {!query.data && <PageHeader title={t("Device")} />}
      <QueryView query={query} noun="device">
        {(device) => <Loaded key={device.deviceId} device={device} search={search} set={set} />}
      </QueryView>
    </>
  );
}
