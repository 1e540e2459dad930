// What a group has stored, how long it keeps records, and what the operator limits.
import { useState } from "react";
import { useQuery, type QueryKey, type UseQueryOptions } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { mayCall, type Rights } from "~/api/may";
import { fetchNewest, queryClient } from "~/api/queries";
import { bytes } from "~/pages/platform/exposition";
import { Button } from "~/ui/button";
import { EditForm, useEdit } from "~/ui/edit";
import { TextField } from "~/ui/field";
import { Card, Facts } from "~/ui/page";
import { QueryView } from "~/ui/state";
import { differing } from "~/ui/versions";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/groups";

type Limits = Schemas["GroupLimits"];
type Retention = Limits["effectiveRetention"][number];
type Days = Limits["retentionDays"];

const KEPT: readonly (readonly [keyof Days & string, string])[] = [
  ["data", t("Data")],
  ["event", t("Events")],
  ["geoloc", t("Geolocations")],
  ["telemetry", t("Telemetry")],
  ["summary", t("SummariesOfValues")],
];
const LIMITS = [
  ["storedRecordsMax", t("Records")],
  ["storedBytesMax", t("SizeInBytes")],
  ["requestsPerSecond", t("RequestsPerSecond")],
] as const;
const SOURCES: Readonly<Record<string, string>> = { group: "", inherited: "inherited", service: t("defaultOfService") };

type Form = Record<string, string>;
type Numbers = Readonly<Record<string, number | undefined>>;

function limitsQuery(groupId: string): UseQueryOptions<Limits, Error, Limits, QueryKey> & { queryKey: QueryKey } {
  return {
    queryKey: ["group-limits", groupId],
    queryFn: ({ signal }) => read(api.GET("/group/limits", { params: { query: { groupId } }, signal })),
  };
}

function inWords(days: number): string {
  if (days === 0) return t("forEver");
  return t("countDays", { count: days });
}

function text(value: number | null | undefined): string {
  return value === null || value === undefined ? "" : String(value);
}

// What is left empty is not said.
function numbersOf(form: Form, names: readonly string[], prefix = ""): Numbers {
  return Object.fromEntries(names.flatMap((name) => ((form[prefix + name] ?? "").trim() === "" ? [] : [[name, Number(form[prefix + name])]])));
}

const KINDS = KEPT.map(([name]) => name);

function retentionForm(found: Limits): Form {
  return Object.fromEntries(KINDS.map((name) => [name, text(found.retentionDays[name])]));
}

function limitsForm(found: Limits): Form {
  const own = LIMITS.map(([name]) => [name, text(found.limits[name])]);
  return Object.fromEntries([...own, ...KINDS.map((name) => [`max.${name}`, text(found.limits.retentionDaysMax?.[name])])]);
}

function store(groupId: string, found: Limits): void {
  queryClient.setQueryData(limitsQuery(groupId).queryKey, found);
}

function versionOf(found: Limits): { ifUpdatedAt?: string } {
  return found.updatedAt ? { ifUpdatedAt: found.updatedAt } : {};
}

function RetentionForm({ groupId, found, onClose }: { groupId: string; found: Limits; onClose: () => void }) {
  const put = (retentionDays: Numbers, before: Limits) => read(api.PUT("/group/retention", { body: { groupId, retentionDays, ...versionOf(before) } }));
  const edit = useEdit({
    stored: found,
    formOf: retentionForm,
    put: (form, before) => put(numbersOf(form, KINDS), before),
    restore: (version, before) => put(version.retentionDays as Numbers, before),
    readNewest: () => fetchNewest(limitsQuery(groupId)),
    onStored: (version) => store(groupId, version),
    compare: (mine, theirs) => differing(KEPT.map(([name, label]) => ({ label, mine: mine[name] ?? "", theirs: theirs[name] ?? "" }))),
    savedText: t("retentionIsChangedNothingIsDeleted"),
    fields: KINDS.map((name) => `retentionDays.${name}`),
  });
  return (
    <EditForm edit={edit}>
      <p className="field-hint">{t("InDaysForThisGroupAnd")}</p>
      {KEPT.map(([name, label]) => (
        <TextField
          key={name}
          label={label}
          type="number"
          min={0}
          inputMode="numeric"
          hint={longestOf(found, name)}
          value={edit.form[name] ?? ""}
          error={edit.submission.errorOf(`retentionDays.${name}`)}
          onChange={(event) => edit.change({ [name]: event.target.value })}
        />
      ))}
      {!edit.isChanged && <Button onClick={onClose}>{t("Close")}</Button>}
    </EditForm>
  );
}

function longestOf(found: Limits, name: string): string | undefined {
  const longest = found.effectiveRetention.find((each) => each.name === name)?.daysMax ?? 0;
  return longest === 0 ? undefined : t("AtMostLongest", { longest: inWords(longest) });
}

function LimitsForm({ groupId, found, onClose }: { groupId: string; found: Limits; onClose: () => void }) {
  const put = (limits: object, before: Limits) => read(api.PUT("/group/limits", { body: { groupId, limits, ...versionOf(before) } }));
  const names = LIMITS.map(([name]) => name);
  const edit = useEdit({
    stored: found,
    formOf: limitsForm,
    put: (form, before) => put({ ...numbersOf(form, names), retentionDaysMax: numbersOf(form, KINDS, t("max")) }, before),
    restore: (version, before) => put(version.limits, before),
    readNewest: () => fetchNewest(limitsQuery(groupId)),
    onStored: (version) => store(groupId, version),
    compare: (mine, theirs) =>
      differing([
        ...LIMITS.map(([name, label]) => ({ label, mine: mine[name] ?? "", theirs: theirs[name] ?? "" })),
        ...KEPT.map(([name, label]) => ({ label, mine: mine[`max.${name}`] ?? "", theirs: theirs[`max.${name}`] ?? "" })),
      ]),
    savedText: t("limitsAreChanged"),
    fields: [...names.map((name) => `limits.${name}`), ...KINDS.map((name) => `limits.retentionDaysMax.${name}`)],
  });
  const field = (key: string, wire: string, label: string) => (
    <TextField
      key={key}
      label={label}
      type="number"
      min={0}
      step="any"
      value={edit.form[key] ?? ""}
      error={edit.submission.errorOf(wire)}
      onChange={(event) => edit.change({ [key]: event.target.value })}
    />
  );
  return (
    <EditForm edit={edit}>
      <p className="field-hint">{t("ForThisGroupWithAllGroups")}</p>
      {LIMITS.map(([name, label]) => field(name, `limits.${name}`, label))}
      <p className="field-hint">{t("longestRetentionInDays")}</p>
      {KEPT.map(([name, label]) => field(`max.${name}`, `limits.retentionDaysMax.${name}`, label))}
      {!edit.isChanged && <Button onClick={onClose}>{t("Close")}</Button>}
    </EditForm>
  );
}

function held(found: Limits, name: string, show: (value: number) => string): string {
  const rows = found.effectiveLimits.filter((each) => each.name === name && each.value > 0);
  if (rows.length === 0) return t("noLimit");
  return rows.map((each) => `${each.used === undefined || each.used === null ? "" : `${t("usedOf", { used: show(each.used) })} `}${show(each.value)}`).join(", ");
}

function keptText({ days, source }: Retention): string {
  return [inWords(days), SOURCES[source]].filter(Boolean).join(", ");
}

export function GroupLimitsCards({ groupId, rights }: { groupId: string; rights: Rights }) {
  const [open, setOpen] = useState<"retention" | "limits" | null>(null);
  const close = () => setOpen(null);
  const count = (value: number) => value.toLocaleString(LOCALE);
  return (
    <QueryView query={useQuery(limitsQuery(groupId))} skeletonRows={6} operation="GET /group/limits" groupId={groupId}>
      {(found) => (
        <>
          <Card title={t("Storage")}>
            <Facts
              rows={[
                [t("ThisGroup"), t("recordsRecordsBytes", { records: count(found.stored.records), bytes: bytes(found.stored.bytes) })],
                [t("WithThoseBelow"), t("recordsRecordsBytes", { records: count(found.storedWithSubgroups.records), bytes: bytes(found.storedWithSubgroups.bytes) })],
                [t("Records"), held(found, "storedRecordsMax", count)],
                [t("Size"), held(found, "storedBytesMax", bytes)],
                [t("RequestsPerSecond"), held(found, "requestsPerSecond", count)],
              ]}
            />
            {open === "limits" && <LimitsForm key={groupId} groupId={groupId} found={found} onClose={close} />}
            {open !== "limits" && mayCall(rights, "PUT /group/limits") && <Button writes onClick={() => setOpen("limits")}>{t("ChangeLimits")}</Button>}
          </Card>
          <Card title={t("Retention")}>
            {open === "retention" ? (
              <RetentionForm key={groupId} groupId={groupId} found={found} onClose={close} />
            ) : (
              <>
                <Facts rows={KEPT.map(([name, label]) => [label, found.effectiveRetention.filter((each) => each.name === name).map(keptText).join("")])} />
                {mayCall(rights, "PUT /group/retention") && <Button writes onClick={() => setOpen("retention")}>{t("ChangeRetention")}</Button>}
              </>
            )}
          </Card>
        </>
      )}
    </QueryView>
  );
}
