import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Guarded } from "~/frame/guarded";
import { groupQuery } from "~/api/queries";
import { useRange, useScope } from "~/frame/page-state";
import { DeviceChoice } from "~/pages/devices/device-picker";
import { deviceNameQuery } from "~/pages/devices/queries";
import { connectorsQuery } from "~/pages/connectors/queries";
import { spanOf } from "~/time";
import { download } from "~/ui/export";
import { Menu } from "~/ui/menu";
import { PageHeader } from "~/ui/page";
import { KIND_LABELS } from "~/ui/pill";
import type { Chip } from "~/ui/state";
import { nameOr } from "~/ui/name";
import { MessageDrawer } from "./message-drawer";
import { MessageList } from "./message-list";
import { present } from "./queries";
import { KINDS, STATUSES, type MessagesSearch } from "./search";
import { statusWords } from "./words";
import { t } from "~/messages/messages";

const route = getRouteApi("/frame/g/$groupId/messages");

function Filters({ groupId, search, set, connectors }: { groupId: string; search: MessagesSearch; set: (change: Partial<MessagesSearch>, replace?: boolean) => void; connectors: readonly { id: string; name?: string | null | undefined }[] }) {
  return (
    <div className="filters">
      <select className="input" aria-label={t("Status")} value={search.status ?? ""} onChange={(event) => set({ status: (event.target.value || undefined) as MessagesSearch["status"] })}>
        <option value="">{t("AnyStatus")}</option>
        {STATUSES.map((status) => (
          <option key={status} value={status}>
            {statusWords({ status }).label}
          </option>
        ))}
      </select>
      <select className="input" aria-label={t("Connector")} value={search.connector ?? ""} onChange={(event) => set({ connector: event.target.value || undefined })}>
        <option value="">{t("AllConnectors")}</option>
        {connectors.map((each) => (
          <option key={each.id} value={each.id}>
            {nameOr(each.name, each.id)}
          </option>
        ))}
      </select>
      <select className="input" aria-label={t("Kind")} value={search.kind ?? ""} onChange={(event) => set({ kind: (event.target.value || undefined) as MessagesSearch["kind"] })}>
        <option value="">{t("AllKinds")}</option>
        {KINDS.map((kind) => (
          <option key={kind} value={kind}>
            {KIND_LABELS[kind]}
          </option>
        ))}
      </select>
      <DeviceChoice groupId={groupId} deviceId={search.device} onChoose={(device) => set({ device })} />
    </div>
  );
}

function Messages() {
  const { groupId } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const { range } = useRange();
  const { withBelow } = useScope();
  const group = useQuery(groupQuery(groupId));
  const connectors = useQuery(connectorsQuery(groupId, withBelow)).data ?? [];
  const device = useQuery({ ...deviceNameQuery(search.device ?? ""), enabled: search.device !== undefined }).data;
  const set = (change: Partial<MessagesSearch>, replace = false): void =>
    void navigate({ to: ".", search: (before: object) => ({ ...before, ...change }), replace } as never);
  const nameOf = (id: string) => connectors.find((each) => each.id === id)?.name ?? id;
  const given: (Chip | "" | undefined)[] = [
    search.status && { label: t("statusLabel", { label: statusWords({ status: search.status }).label }), onRemove: () => set({ status: undefined }) },
    search.connector && { label: t("connectorConnector", { connector: nameOf(search.connector) }), onRemove: () => set({ connector: undefined }) },
    search.kind && { label: t("kindKind", { kind: KIND_LABELS[search.kind] }), onRemove: () => set({ kind: undefined }) },
    search.device && { label: t("deviceName", { name: device?.name ?? search.device }), onRemove: () => set({ device: undefined }) },
  ];
  const chips = given.filter((each): each is Chip => typeof each === "object");
  const exportAs = (format: string) => {
    const { begin, end } = spanOf(range, Date.now());
    const query = present({ groupId, subgroups: withBelow ? "true" : undefined, connectorId: search.connector, beginDate: new Date(begin).toISOString(), endDate: new Date(end).toISOString(), format });
    download(`/connector/messages/export?${new URLSearchParams(query).toString()}`);
  };
  return (
    <>
      <PageHeader
        title={t("Deliveries")}
        above={group.data?.name}
        actions={
          <Menu
            label={t("Export")}
            items={[
              { label: t("CSVAllThatArrivedInThis"), writes: false, onSelect: () => exportAs("csv") },
              { label: t("NDJSONAllThatArrivedInThis"), writes: false, onSelect: () => exportAs("ndjson") },
            ]}
          />
        }
      />
      <Filters groupId={groupId} search={search} set={set} connectors={connectors} />
      <MessageList
        groupId={groupId}
        subgroups={withBelow}
        filter={present({ connectorId: search.connector, status: search.status, deviceId: search.device, kind: search.kind })}
        connectors={connectors}
        onOpen={(message) => set({ message })}
        chips={chips}
        onClear={() => set({ status: undefined, connector: undefined, kind: undefined, device: undefined })}
      />
      {search.message && <MessageDrawer id={search.message} connectorName={nameOf} onClose={() => set({ message: undefined })} />}
    </>
  );
}

export function MessagesPage() {
  const { groupId } = route.useParams();
  return (
    <Guarded groupId={groupId} operation="GET /connector/messages" title={t("Deliveries")}>
      <Messages />
    </Guarded>
  );
}
