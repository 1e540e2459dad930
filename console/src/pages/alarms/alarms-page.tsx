// What is wrong now, and what was: the alarms of a group and of the groups below it.
import { useCallback, useMemo, useState, type ReactNode } from "react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { AcknowledgeDialog } from "~/alarms/acknowledge-dialog";
import { AlarmSubject, SeverityPill } from "~/alarms/parts";
import { SilenceDialog } from "~/alarms/silence-dialog";
import { alarmsQuery, useMeasurementWords } from "~/alarms/queries";
import { ALARM_REASONS, SEVERITIES, alarmWords, isOpen, lasted, severityWords, sortAlarms, worstWords, type Alarm, type FindMeasurement, type Severity } from "~/alarms/words";
import { useMay } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { SERVICE_URL } from "~/base-path";
import { Guarded } from "~/frame/guarded";
import { useRange, useZone } from "~/frame/page-state";
import { DeviceChoice, useDeviceNames } from "~/pages/devices/device-picker";
import { GroupName } from "~/pages/devices/devices-page";
import { usePeople } from "~/pages/jobs/queries";
import { rangeLabel } from "~/time";
import { usePageActions } from "~/ui/actions";
import { Button } from "~/ui/button";
import { useShortcuts } from "~/ui/keys";
import { PageHeader } from "~/ui/page";
import { useSelection } from "~/ui/selection";
import { Empty, NoMatch, QueryView, type Chip } from "~/ui/state";
import { Table, isPhone, type Column } from "~/ui/table";
import { Tabs } from "~/ui/tabs";
import { TimeText } from "~/ui/time-text";
import { AlarmDrawer } from "./alarm-drawer";
import { Silences } from "./silences";
import type { AlarmTab, AlarmsSearch } from "./search";
import { t } from "~/messages/alarms";
import "./alarms.css";

const route = getRouteApi("/frame/g/$groupId/alarms");
const ROW_PX = 52;
type Set = (change: Partial<AlarmsSearch>) => void;

function Filters({ groupId, search, set }: { groupId: string; search: AlarmsSearch; set: Set }) {
  return (
    <div className="filters">
      <select className="input" aria-label={t("Severity")} value={search.severity ?? ""} onChange={(event) => set({ severity: (event.target.value || undefined) as Severity | undefined })}>
        <option value="">{t("AnySeverity")}</option>
        {SEVERITIES.map((each) => (
          <option key={each} value={each}>
            {severityWords(each)}
          </option>
        ))}
      </select>
      <select className="input" aria-label={t("Reason")} value={search.reason ?? ""} onChange={(event) => set({ reason: event.target.value || undefined })}>
        <option value="">{t("AnyReason")}</option>
        {Object.entries(ALARM_REASONS).map(([reason, words]) => (
          <option key={reason} value={reason}>
            {words}
          </option>
        ))}
      </select>
      <DeviceChoice groupId={groupId} deviceId={search.device} onChoose={(device) => set({ device })} />
    </div>
  );
}

function useChips(groupId: string, search: AlarmsSearch, set: Set): Chip[] {
  const [deviceName] = useDeviceNames(groupId, search.device ? [search.device] : []);
  const given: (Chip | undefined | "")[] = [
    search.severity && { label: t("severityChosen", { severity: severityWords(search.severity) }), onRemove: () => set({ severity: undefined }) },
    search.reason && { label: ALARM_REASONS[search.reason] ?? search.reason, onRemove: () => set({ reason: undefined }) },
    search.device && { label: t("deviceChosen", { name: deviceName ?? search.device }), onRemove: () => set({ device: undefined }) },
  ];
  return given.filter((each): each is Chip => typeof each === "object");
}

// Who cares about it, or how long it lasted.
function StateCell({ alarm, nameOf, action }: { alarm: Alarm; nameOf: (id: string) => string; action: ReactNode }) {
  if (alarm.state === "raised") return action || <span className="ink-2">{t("byNobodyYet")}</span>;
  const [first, second] = isOpen(alarm) ? [t("acknowledgedByName", { name: nameOf(alarm.acknowledgedBy ?? "") }), alarm.comment] : [t("resolvedAfterDuration", { duration: lasted(alarm) }), alarm.resolution ?? alarm.comment];
  return (
    <div className="alarm-lines">
      <span title={first}>{first}</span>
      {second && (
        <span className="ink-2" title={second}>
          {second}
        </span>
      )}
    </div>
  );
}

interface ColumnContext {
  find: FindMeasurement;
  mayRead: boolean;
  nameOf: (id: string) => string;
  hasGroups: boolean;
  isHistory: boolean;
  actionOf: (alarm: Alarm) => ReactNode;
}

function columnsOf({ find, mayRead, nameOf, hasGroups, isHistory, actionOf }: ColumnContext): Column<Alarm>[] {
  return [
    { id: "severity", head: t("Severity"), width: "96px", card: "line", cell: (alarm) => <SeverityPill severity={alarm.severity} /> },
    {
      id: "subject",
      head: t("Device"),
      width: "minmax(110px, 1fr)",
      card: "title",
      cell: (alarm) => (
        <div className="alarm-lines">
          <span>
            <AlarmSubject alarm={alarm} />
          </span>
          {hasGroups && (
            <span className="ink-2">
              <GroupName groupId={alarm.groupId} />
            </span>
          )}
        </div>
      ),
    },
    {
      id: "what",
      head: t("Alarm"),
      width: "minmax(240px, 3fr)",
      card: "wide",
      cell: (alarm) => (
        <div className="alarm-lines">
          <span className="alarm-what" title={alarmWords(alarm, find, mayRead)}>
            {alarmWords(alarm, find, mayRead)}
          </span>
          <span className="ink-2" title={alarm.notificationName}>
            {alarm.notificationName}
            {alarm.isNotificationDisabled && ` ${t("disabledItIsNotWatchedSo")}`}
          </span>
        </div>
      ),
    },
    { id: "worst", head: t("Worst"), width: "88px", align: "end", card: "line", cell: (alarm) => <WorstText words={worstWords(alarm, find)} /> },
    {
      id: "since",
      head: t("Since"),
      width: "136px",
      card: "line",
      cell: (alarm) => (
        <div className="alarm-lines alarm-since">
          <TimeText at={alarm.raisedAt} withAgo={isOpen(alarm)} precision="minute" />
        </div>
      ),
    },
    { id: "state", head: isHistory ? t("State") : t("Acknowledged"), width: "minmax(150px, 1.4fr)", card: "line", cell: (alarm) => <StateCell alarm={alarm} nameOf={nameOf} action={actionOf(alarm)} /> },
  ];
}

function WorstText({ words }: { words: string }) {
  return words ? (
    <span>
      <span className="if-card">{t("worst")}{" "}</span>
      {words}
    </span>
  ) : (
    <span className="ink-3 no-card">–</span>
  );
}

// The alarm of the row that has the focus, for keys that act on it.
function focusedRow(): number {
  return Number(document.activeElement?.closest<HTMLElement>("[data-index]")?.dataset.index ?? -1);
}

function AlarmList({ groupId, tab, search, set }: { groupId: string; tab: AlarmTab; search: AlarmsSearch; set: Set }) {
  const { range } = useRange();
  const zone = useZone();
  const { find, mayRead } = useMeasurementWords(groupId);
  const mayAcknowledge = useMay(groupId, "POST /alarm/acknowledge");
  const nameOf = usePeople(groupId);
  const chips = useChips(groupId, search, set);
  const selection = useSelection();
  const [acknowledged, setAcknowledged] = useState<readonly Alarm[]>([]);
  const [silenced, setSilenced] = useState<Alarm | null>(null);
  const { severity, reason, device, own } = search;
  const filter = useMemo(() => ({ severity, reason, deviceId: device, subgroups: !own }), [severity, reason, device, own]);
  const query = useInfiniteQuery(alarmsQuery(groupId, filter, tab === "history" ? range : null));
  const alarms = useMemo(() => {
    const all = query.data?.pages.flatMap((page) => page.items) ?? [];
    // Two pages may have the same one, if it was moved from one to the other meanwhile.
    return sortAlarms([...new Map(all.map((each) => [each.id, each])).values()]);
  }, [query.data]);
  const mayBeAcknowledged = (alarm: Alarm) => mayAcknowledge && alarm.state === "raised";
  const { fetchNextPage, hasNextPage, isFetchingNextPage } = query;
  const onEndReached = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetchingNextPage]);
  const selected = alarms.filter((each) => selection.has(each.id) && mayBeAcknowledged(each));
  const acknowledgeFocused = () => {
    const focused = alarms[focusedRow()];
    const chosen = selected.length > 0 ? selected : focused && mayBeAcknowledged(focused) ? [focused] : [];
    setAcknowledged(chosen);
  };
  useShortcuts(mayAcknowledge && tab === "open" ? [{ key: "a", label: t("AcknowledgeSelectedAlarmsOrThatOf"), run: acknowledgeFocused }] : []);
  const acknowledgeWords = t("AcknowledgeCountAlarms", { count: selected.length });
  usePageActions(selected.length > 0 ? [{ id: "acknowledge-alarms", label: acknowledgeWords, run: () => setAcknowledged(selected) }] : []);
  const columns = columnsOf({
    find,
    mayRead,
    nameOf,
    isHistory: tab === "history",
    hasGroups: alarms.some((each) => each.groupId !== groupId),
    actionOf: (alarm) =>
      mayBeAcknowledged(alarm) && (
        <Button writes onClick={() => setAcknowledged([alarm])} aria-label={t("AcknowledgeDeviceNameAlarm", { deviceName: alarm.deviceName ?? alarm.connectorName ?? "", alarm: alarmWords(alarm, find, mayRead) })}>
          {t("Acknowledge")}
        </Button>
      ),
  });
  const opened = alarms.find((each) => each.id === search.alarm);
  return (
    <>
      <Filters groupId={groupId} search={search} set={set} />
      <QueryView query={query} operation="GET /group/alarms" groupId={groupId} noun="group">
        {() => {
          if (alarms.length > 0)
            return (
              <Table
                label={t("Alarms")}
                rows={alarms}
                columns={columns}
                rowKey={(alarm) => alarm.id}
                {...(isPhone() ? {} : { rowHeight: ROW_PX })}
                rowClass={(alarm) => (alarm.state === "raised" ? "alarm-raised" : undefined)}
                selection={mayAcknowledge && tab === "open" ? selection : undefined}
                onOpen={(alarm) => set({ alarm: alarm.id })}
                onEndReached={onEndReached}
                isLoadingMore={isFetchingNextPage}
              />
            );
          if (chips.length > 0) return <NoMatch chips={chips} onClear={() => set({ severity: undefined, reason: undefined, device: undefined })} />;
          return (
            <Empty
              text={
                tab === "open"
                  ? t("NoAlarmIsOpenAlarmsAre")
                  : t("NoAlarmWasRaisedInThis", { range: rangeLabel(range, zone) })
              }
              curl={`curl -H "Authorization: Bearer $TOKEN" \\
  "${SERVICE_URL}/group/alarms?groupId=${groupId}&subgroups=true&state=all"`}
            />
          );
        }}
      </QueryView>
      {selected.length > 0 && (
        <div className="selection-bar" role="region" aria-label={t("SelectedAlarms")}>
          <span>{t("countSelected", { count: selected.length })}</span>
          <Button look="primary" onClick={() => setAcknowledged(selected)}>
            {t("Acknowledge")}
          </Button>
          <Button onClick={selection.clear}>{t("Clear")}</Button>
        </div>
      )}
      {opened && (
        <AlarmDrawer
          alarm={opened}
          find={find}
          mayRead={mayRead}
          onSilence={mayAcknowledge && opened.deviceId && isOpen(opened) ? () => setSilenced(opened) : undefined}
          onAcknowledge={mayBeAcknowledged(opened) ? () => setAcknowledged([opened]) : undefined}
          onClose={() => set({ alarm: undefined })}
        />
      )}
      {silenced?.deviceId && (
        <SilenceDialog groupId={silenced.groupId} device={{ id: silenced.deviceId, name: silenced.deviceName ?? silenced.deviceId }} onClose={() => setSilenced(null)} />
      )}
      {acknowledged.length > 0 && (
        <AcknowledgeDialog
          alarms={acknowledged}
          find={find}
          onClose={() => {
            setAcknowledged([]);
            selection.clear();
          }}
        />
      )}
    </>
  );
}

const TABS = [
  { id: "open", label: t("Open") },
  { id: "history", label: t("History") },
  { id: "silences", label: t("Silences") },
] as const;

function Alarms() {
  const { groupId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const group = useQuery(groupQuery(groupId));
  const set: Set = (change) => void navigate({ search: (before) => ({ ...before, ...change }) });
  const tab = search.tab ?? "open";
  const mayCreate = useMay(groupId, "POST /alarm/silence");
  const [isSilencing, setSilencing] = useState(false);
  usePageActions(mayCreate ? [{ id: "silence", label: t("SilenceAlarms"), run: () => setSilencing(true) }] : []);
  return (
    <>
      <PageHeader title={t("Alarms")} above={group.data?.name} actions={mayCreate && <Button onClick={() => setSilencing(true)}>{t("SilenceDots")}</Button>} />
      <Tabs label={t("WhichAlarms")} tabs={TABS} current={tab} onChoose={(next) => set({ tab: next === "open" ? undefined : next, alarm: undefined })}>
        {tab === "silences" ? (
          <Silences groupId={groupId} subgroups={!search.own} onCreate={mayCreate ? () => setSilencing(true) : undefined} />
        ) : (
          <AlarmList key={tab} groupId={groupId} tab={tab} search={search} set={set} />
        )}
      </Tabs>
      {isSilencing && <SilenceDialog groupId={groupId} device={null} onClose={() => setSilencing(false)} />}
    </>
  );
}

export function AlarmsPage() {
  const { groupId } = route.useParams();
  return (
    <Guarded groupId={groupId} operation="GET /group/alarms" title={t("Alarms")}>
      <Alarms />
    </Guarded>
  );
}
