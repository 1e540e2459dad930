// A new job: what, with which devices, counted before it starts.
import { useState } from "react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api, ApiProblem, read, type Schemas } from "~/api/client";
import { mayCall, useRights, type Rights } from "~/api/may";
import type { Operation } from "~/api/permissions";
import { groupQuery } from "~/api/queries";
import { GroupTree } from "~/frame/group-picker";
import { useRange, useZone } from "~/frame/page-state";
import { connectorsQuery } from "~/pages/connectors/queries";
import { parseTags } from "~/pages/devices/bulk";
import { DeviceFilters } from "~/pages/devices/device-filters";
import { deviceTypesQuery } from "~/pages/devices/queries";
import { filterOf } from "~/pages/devices/search";
import { present } from "~/pages/messages/queries";
import { rangeLabel, spanOf } from "~/time";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { Unsaved } from "~/ui/drafts";
import { Checkbox, Select, TextArea, TextField, fieldError } from "~/ui/field";
import { ErrorState, Loading } from "~/ui/state";
import { nameOr } from "~/ui/name";
import { KINDS, type JobsSearch, type Kind } from "./search";
import { KIND_WORDS } from "./words";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/jobs";

const CONTENTS: Readonly<Record<string, readonly [string, Operation]>> = {
  devices: [t("Devices"), "GET /devices/export"],
  records: [t("Records"), "GET /records/export"],
  messages: [t("Deliveries"), "GET /connector/messages/export"],
  audit: [t("AuditLog"), "GET /group/audit/export"],
};

const NEEDS: Readonly<Record<Exclude<Kind, "export">, Operation>> = {
  tag: "PUT /devices",
  type: "PUT /devices",
  configuration: "PUT /devices",
  transfer: "PUT /devices/transfer",
  delete: "POST /devices/delete",
  redecode: "POST /device/redecode",
  resend: "POST /connector/resendData",
  replay: "POST /connector/replay",
};

// The operation whose permission a job of the kind needs.
export function needsOf(kind: string, content?: string | null): Operation {
  if (kind === "export") return CONTENTS[content ?? "devices"]?.[1] ?? "GET /devices/export";
  return NEEDS[kind as keyof typeof NEEDS] ?? "POST /job";
}

export function kindsAllowed(rights: Rights): Kind[] {
  return KINDS.filter((kind) => (kind === "export" ? contentsAllowed(rights).length > 0 : mayCall(rights, needsOf(kind))));
}

// What may be exported, with its words.
function contentsAllowed(rights: Rights): (readonly [string, string])[] {
  return Object.entries(CONTENTS).flatMap(([key, [words, operation]]) => (mayCall(rights, operation) ? [[key, words] as const] : []));
}

interface Draft {
  added: string;
  removed: string;
  type: string;
  toGroupId: string | null;
  configuration: string;
  connectorId: string;
  isRangeOnly: boolean;
  content: string;
  format: "csv" | "ndjson";
  reason: string;
  typed: string;
}

const EMPTY: Draft = {
  added: "",
  removed: "",
  type: "",
  toGroupId: null,
  configuration: "",
  connectorId: "",
  isRangeOnly: false,
  content: "devices",
  format: "csv",
  reason: "",
  typed: "",
};

type Period = { beginDate: string; endDate: string };

function tagsOf(draft: Draft): Schemas["JobParameters"] {
  const [addTags, removeTags] = [parseTags(draft.added), parseTags(draft.removed)];
  return { ...(addTags.length ? { addTags } : {}), ...(removeTags.length ? { removeTags } : {}) };
}

// What is sent as parameters, or what is still missing.
function parametersOf(kind: Kind, draft: Draft, period: Period): Schemas["JobParameters"] | string {
  if (kind === "tag") return draft.added.trim() || draft.removed.trim() ? tagsOf(draft) : t("NoTagIsNamedYet");
  if (kind === "type") return draft.type ? { type: draft.type } : t("NoTypeIsChosenYet");
  if (kind === "transfer") return draft.toGroupId ? { toGroupId: draft.toGroupId } : t("NoGroupIsChosenYet");
  if (kind === "configuration") return draft.configuration ? { configuration: draft.configuration } : t("NoConfigurationIsWrittenYet");
  if (kind === "redecode") return draft.isRangeOnly ? period : {};
  if (kind === "resend") return draft.connectorId ? { connectorId: draft.connectorId } : t("NoConnectorIsChosenYet");
  if (kind === "replay") return draft.connectorId ? { connectorId: draft.connectorId, ...period } : t("NoConnectorIsChosenYet");
  if (kind === "export") return { content: draft.content as "devices", format: draft.format, ...(draft.content === "devices" ? {} : period) };
  return {};
}

function ConnectorChoice({ groupId, draft, change }: { groupId: string; draft: Draft; change: (part: Partial<Draft>) => void }) {
  const connectors = useQuery(connectorsQuery(groupId));
  const options = (connectors.data ?? []).map((each) => [each.id, nameOr(each.name, each.id)] as const);
  return <Select label={t("Connector")} options={[["", t("ChooseConnector")], ...options]} value={draft.connectorId} onChange={(event) => change({ connectorId: event.target.value })} />;
}

function TypeChoice({ draft, change }: { draft: Draft; change: (part: Partial<Draft>) => void }) {
  const types = useQuery(deviceTypesQuery);
  const options = (types.data ?? []).flatMap((each) => (each.name ? [[each.name, each.displayName ?? each.name] as const] : []));
  return (
    <Select
      label={t("NewType")}
      hint={t("configurationOfEachIsResetTo")}
      options={[["", t("ChooseType")], ...options]}
      value={draft.type}
      onChange={(event) => change({ type: event.target.value })}
    />
  );
}

function GroupChoice({ draft, change }: { draft: Draft; change: (part: Partial<Draft>) => void }) {
  const group = useQuery({ ...groupQuery(draft.toGroupId ?? ""), enabled: draft.toGroupId !== null });
  return (
    <>
      <GroupTree onChoose={(toGroupId) => change({ toGroupId })} />
      {draft.toGroupId && (
        <p aria-live="polite">
          {t.rich("ToStrong", { strong: <strong>{group.data?.name ?? draft.toGroupId}</strong> })}
        </p>
      )}
    </>
  );
}

function Parameters({ kind, groupId, draft, change, error }: { kind: Kind; groupId: string; draft: Draft; change: (part: Partial<Draft>) => void; error: (name: string) => string | undefined }) {
  const { range } = useRange();
  const zone = useZone();
  const rights = useRights(groupId);
  if (kind === "tag")
    return (
      <>
        <TextField label={t("AddTags")} hint={t("SeparatedByCommas")} value={draft.added} error={error("addTags")} onChange={(event) => change({ added: event.target.value })} />
        <TextField label={t("RemoveTags")} value={draft.removed} error={error("removeTags")} onChange={(event) => change({ removed: event.target.value })} />
      </>
    );
  if (kind === "type") return <TypeChoice draft={draft} change={change} />;
  if (kind === "transfer") return <GroupChoice draft={draft} change={change} />;
  if (kind === "configuration")
    return <TextArea isCode label={t("Configuration")} rows={4} value={draft.configuration} error={error("configuration")} onChange={(event) => change({ configuration: event.target.value })} />;
  if (kind === "redecode")
    return <Checkbox label={t("OnlyRecordsOfRangeOfPage", { range: rangeLabel(range, zone) })} checked={draft.isRangeOnly} onChange={(event) => change({ isRangeOnly: event.target.checked })} />;
  if (kind === "resend") return <ConnectorChoice groupId={groupId} draft={draft} change={change} />;
  if (kind === "replay")
    return (
      <>
        <ConnectorChoice groupId={groupId} draft={draft} change={change} />
        <p className="ink-2">{t("RecordsOfRangeOfPageRange", { range: rangeLabel(range, zone) })}</p>
      </>
    );
  if (kind === "export")
    return (
      <>
        <Select label={t("Content")} options={contentsAllowed(rights)} value={draft.content} onChange={(event) => change({ content: event.target.value })} />
        <Select label={t("Format")} options={[["csv", "CSV"], ["ndjson", "NDJSON"]]} value={draft.format} onChange={(event) => change({ format: event.target.value as Draft["format"] })} />
        {draft.content !== "devices" && <p className="ink-2">{t("OfRangeOfPageRange", { range: rangeLabel(range, zone) })}</p>}
      </>
    );
  return null;
}

function Count({ counted, kind }: { counted: Schemas["JobReturn"]; kind: Kind }) {
  const number = (value: number) => value.toLocaleString(LOCALE);
  const sample = counted.sample?.slice(0, 5) ?? [];
  return (
    <div className="job-count" role="status">
      <strong>
        {number(counted.total)}
        {counted.totalIsMore ? ` ${t("orMore")}` : ""} {kind === "export" ? "rows" : t("devices", { count: counted.total })}
        {typeof counted.messages === "number" && t("messagesValueDeliveries", { messages: number(counted.messages), value: counted.messagesIsMore ? ` ${t("orMore")}` : "" })}
      </strong>
      {sample.length > 0 && (
        <ul>
          {sample.map((each) => (
            <li key={each.deviceId}>
              {each.name} <span className="ink-2">{each.type}</span>
            </li>
          ))}
          {counted.total > sample.length && <li className="ink-2">{t("andNumberMore", { number: number(counted.total - sample.length) })}</li>}
        </ul>
      )}
    </div>
  );
}

export function NewJob({ groupId, search, set, kinds }: { groupId: string; search: JobsSearch; set: (change: Partial<JobsSearch>, replace?: boolean) => void; kinds: readonly Kind[] }) {
  const navigate = useNavigate();
  const rights = useRights(groupId);
  const [draft, setDraft] = useState(() => ({ ...EMPTY, content: contentsAllowed(rights)[0]?.[0] ?? EMPTY.content }));
  const group = useQuery(groupQuery(groupId));
  const { range } = useRange();
  const kind = search.new && kinds.includes(search.new) ? search.new : (kinds[0] ?? "tag");
  const span = spanOf(range, Date.now());
  const period = { beginDate: new Date(span.begin).toISOString(), endDate: new Date(span.end).toISOString() };
  const parameters = parametersOf(kind, draft, period);
  const hasFilter = kind !== "export" || draft.content === "devices";
  const missing = typeof parameters === "string" ? parameters : undefined;
  const body = {
    groupId,
    kind,
    ...(hasFilter ? { filter: present(filterOf(search)) } : {}),
    parameters: typeof parameters === "string" ? {} : parameters,
    ...(draft.reason ? { reason: draft.reason } : {}),
  };
  // The end of the range moves on with the clock; a count is of what was chosen.
  const key = JSON.stringify([kind, hasFilter ? filterOf(search) : null, missing ? null : { ...(parameters as object), ...("beginDate" in (parameters as object) ? { beginDate: range.from, endDate: range.to } : {}) }]);
  const count = useQuery({
    queryKey: ["job-count", groupId, key],
    queryFn: ({ signal }) => read(api.POST("/job", { body: { ...body, dryRun: true }, signal })),
    enabled: missing === undefined,
    gcTime: 0,
    staleTime: Infinity,
  });
  const start = useMutation({
    mutationFn: () => read(api.POST("/job", { body })),
    onSuccess: (started) => started.job && void navigate({ to: "/g/$groupId/jobs/$jobId", params: { groupId, jobId: started.job.jobId } }),
  });
  const problem = [start.error, count.error].find((each): each is ApiProblem => each instanceof ApiProblem) ?? null;
  const name = group.data?.name ?? groupId;
  const needsName = kind === "delete" && draft.typed !== name ? t("nameOfGroupIsNotTyped") : undefined;
  const reason = missing ?? (!count.data ? t("NotCountedYet") : count.data.total === 0 ? t("NothingMatches") : (needsName ?? (start.isPending ? t("BeingStarted") : undefined)));
  const close = () => set({ new: undefined, q: undefined, type: undefined, network: undefined, tag: undefined, seen: undefined, battery: undefined });
  const [isTyped, setTyped] = useState(false);
  const change = (part: Partial<Draft>) => {
    setTyped(true);
    setDraft((before) => ({ ...before, ...part }));
  };
  return (
    <Dialog
      title={t("NewJob")}
      width="wide"
      onClose={close}
      actions={
        <>
          <Button onClick={close}>{t("Cancel")}</Button>
          <Button look={kind === "delete" ? "danger" : "primary"} disabledReason={reason} onClick={() => start.mutate()}>
            {t("StartJob")}
          </Button>
        </>
      }
    >
      <Unsaved isUnsaved={isTyped && !start.isPending} />
      <div className="form">
        <Select label={t("What")} options={kinds.map((each) => [each, KIND_WORDS[each] ?? each] as const)} value={kind} onChange={(event) => set({ new: event.target.value as Kind }, true)} />
        {hasFilter && <DeviceFilters search={search} set={(part) => set(part, true)} rows={[]} />}
        <Parameters kind={kind} groupId={groupId} draft={draft} change={change} error={(field) => fieldError(problem, `parameters.${field}`)} />
        <TextField label={t("Reason")} hint={t("ForWhoeverReadsListOfJobs")} maxLength={256} value={draft.reason} onChange={(event) => change({ reason: event.target.value })} />
        {missing === undefined && count.isPending && <Loading rows={2} />}
        {count.data && <Count counted={count.data} kind={kind} />}
        {count.isError && <ErrorState error={count.error} onRetry={() => void count.refetch()} operation={needsOf(kind, draft.content)} groupId={groupId} />}
        {kind === "delete" && count.data && count.data.total > 0 && (
          <TextField label={t("TypeNameToDeleteThem", { name })} hint={t("TheyCanBeRestoredFor24")} autoComplete="off" value={draft.typed} onChange={(event) => change({ typed: event.target.value })} />
        )}
        {start.isError && <ErrorState error={start.error} />}
      </div>
    </Dialog>
  );
}
