// What the devices of a type measure in a group: declared, or found in their records.
import { useRef, useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { groupMeasurementsQuery, type GroupMeasurement } from "~/measurements/group-measurements";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { Select, TextField } from "~/ui/field";
import { EditForm, useEdit, type Edit } from "~/ui/edit";
import { SubmissionError } from "~/ui/form";
import { Card } from "~/ui/page";
import { Empty, QueryView } from "~/ui/state";
import { useSubmission } from "~/ui/submit";
import { differing } from "~/ui/versions";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/types";

type Measurement = GroupMeasurement;
type Declared = Schemas["MeasurementInput"];

const CLASSES = [
  ["gauge", t("GaugeNumberThatGoesUpAnd")],
  ["counter", t("CounterOnlyGrowsSmallerNumberIs")],
  ["amount", t("AmountWhatWasAddedSinceLast")],
  ["state", t("StateWordOrYesAndNo")],
] as const;
const KINDS = ["data", "event", "geoloc", "telemetry"] as const;
const FIELDS = ["name", "class", "path", "kind", "unit", "label", "decimals", "minimum", "maximum"] as const;

type Draft = Record<(typeof FIELDS)[number], string>;

const EMPTY: Draft = { name: "", class: "gauge", path: "/data/", kind: "data", unit: "", label: "", decimals: "", minimum: "", maximum: "" };

function draftOf(item: Partial<Measurement>): Draft {
  return Object.fromEntries(FIELDS.map((field) => [field, String(item[field] ?? EMPTY[field])])) as Draft;
}

function declaredOf(draft: Draft): Declared {
  const number = (text: string) => (text.trim() === "" ? undefined : Number(text));
  return {
    name: draft.name.trim(),
    path: draft.path.trim(),
    kind: draft.kind as Schemas["RecordKind"],
    class: draft.class as Schemas["MeasurementClass"],
    unit: draft.unit.trim() || undefined,
    label: draft.label.trim() || undefined,
    decimals: number(draft.decimals),
    minimum: number(draft.minimum),
    maximum: number(draft.maximum),
  };
}

// What is declared for the devices of a group. It is written as a whole.
interface DeclaredList {
  readonly measurements: readonly Declared[];
  readonly updatedAt: string | undefined;
}

function declaredQuery(type: string, groupId: string) {
  return {
    queryKey: ["declared-measurements", type, groupId],
    queryFn: async ({ signal }: { signal?: AbortSignal }): Promise<DeclaredList> => {
      const found = await read(api.GET("/device/type", { params: { query: { type, groupId } }, signal: signal ?? null }));
      return { measurements: found.measurements ?? [], updatedAt: found.measurementsUpdatedAt };
    },
  };
}

// The version of what was never declared, so that the second of two who declare it at once is refused.
const NEVER = "1970-01-01T00:00:00.000Z";

async function declare(type: string, groupId: string, measurements: readonly Declared[], over: DeclaredList): Promise<DeclaredList> {
  const body = { type, groupId, measurements: [...measurements], ifUpdatedAt: over.updatedAt ?? NEVER };
  await read(api.PUT("/device/type/measurements", { body }));
  return declaredQuery(type, groupId).queryFn({});
}

const LABELS: Record<keyof Draft, string> = { name: "Name", class: t("Class"), path: "Path", kind: "In records of", unit: "Unit", label: t("Label"), decimals: t("Decimals"), minimum: t("SmallestPossibleValue"), maximum: t("LargestPossibleValue") };

interface DialogProps {
  type: string;
  groupId: string;
  item: Measurement | null;
  onClose: () => void;
}

function MeasurementForm({ type, groupId, item, stored, onClose }: DialogProps & { stored: DeclaredList }) {
  const client = useQueryClient();
  const before = item?.isDeclared ? item.name : undefined;
  const known = (list: DeclaredList) => list.measurements.find((each) => each.name === before);
  const others = (list: DeclaredList, name: string) => list.measurements.filter((each) => each.name !== before && each.name !== name);
  const options = declaredQuery(type, groupId);
  const store = async (list: DeclaredList) => {
    client.setQueryData(options.queryKey, list);
    await client.invalidateQueries({ queryKey: ["group-measurements", groupId] });
  };
  const savedName = useRef("");
  const change = async (name: string, next: readonly Declared[], over: DeclaredList) => {
    const saved = await declare(type, groupId, [...others(over, name), ...next], over);
    savedName.current = name;
    return saved;
  };
  const edit = useEdit<DeclaredList, Draft>({
    stored,
    formOf: (list) => draftOf(known(list) ?? item ?? {}),
    put: async (draft, over) => {
      const saved = await change(draft.name.trim(), [declaredOf(draft)], over);
      onClose();
      return saved;
    },
    // Only this one: what others have declared since stays.
    restore: (list, over) => change(savedName.current, [known(list)].filter((each) => each !== undefined), over),
    readNewest: () => options.queryFn({}),
    onStored: store,
    compare: (mine, theirs) => differing(FIELDS.map((field) => ({ label: LABELS[field], mine: mine[field], theirs: theirs[field] }))),
    savedText: t("SavedDeclaration"),
  });
  const removal = useSubmission();
  const remove = () =>
    removal.run(async () => {
      await store(await change("", [], stored));
      onClose();
    });
  const set = (field: keyof Draft) => (event: { target: { value: string } }) => edit.change({ [field]: event.target.value });
  const draft = edit.form;
  const numeric = { inputMode: "decimal", type: "number", step: "any" } as const;
  return (
    <EditForm edit={edit as Edit<object>} reason={draft.name.trim() === "" ? t("ItNeedsName") : undefined}>
      <TextField label={t("Name")} required maxLength={64} hint={t("UsedInFiltersChartsAndExports")} value={draft.name} onChange={set("name")} />
      <TextField label={t("Label")} hint={t("WhatPeopleCallIt")} value={draft.label} onChange={set("label")} />
      <Select label={t("Class")} options={CLASSES} value={draft.class} onChange={set("class")} />
      <Select label={t("InRecordsOf")} options={KINDS.map((each) => [each, each === "geoloc" ? "geolocation" : each] as const)} value={draft.kind} onChange={set("kind")} />
      <TextField label={t("Path")} required className="input input-code" hint={t("JSONPointerAsDataSoilWater")} value={draft.path} onChange={set("path")} />
      <TextField label={t("Unit")} value={draft.unit} onChange={set("unit")} />
      <TextField label={t("Decimals")} {...numeric} step={1} min={0} max={12} value={draft.decimals} onChange={set("decimals")} />
      <TextField label={t("SmallestPossibleValue")} {...numeric} value={draft.minimum} onChange={set("minimum")} />
      <TextField label={t("LargestPossibleValue")} {...numeric} hint={t("ValuesBeyondAreCountedAsInvalid")} value={draft.maximum} onChange={set("maximum")} />
      {before !== undefined && (
        <Button look="danger" onClick={() => void remove()}>
          {t("RemoveDeclaration")}
        </Button>
      )}
      <SubmissionError submission={removal} />
    </EditForm>
  );
}

function MeasurementDialog(props: DialogProps) {
  const { type, groupId, item, onClose } = props;
  const query = useQuery({ ...declaredQuery(type, groupId), staleTime: 0, gcTime: 0 });
  return (
    <Dialog title={item ? t("MeasurementName", { name: item.name }) : t("DeclareMeasurement")} onClose={onClose}>
      <QueryView query={query} noun={t("deviceType")} skeletonRows={6}>
        {(stored) => <MeasurementForm {...props} stored={stored} />}
      </QueryView>
    </Dialog>
  );
}

function boundsOf({ minimum, maximum }: Measurement): string {
  if (minimum === undefined && maximum === undefined) return "–";
  return t("minimumToMaximum", { minimum: minimum ?? "…", maximum: maximum ?? "…" });
}

export function Measurements({ type, groupId }: { type: string; groupId: string }) {
  const mayDeclare = useMay(groupId, "PUT /device/type/measurements");
  const [open, setOpen] = useState<Measurement | "new" | null>(null);
  const query = useQuery(groupMeasurementsQuery(groupId));
  return (
    <Card title={t("Measurements")} note={t("ofGroupsDevicesAndThoseBelow")}>
      <QueryView query={query} operation="GET /group/measurements" groupId={groupId} skeletonRows={3}>
        {(items) => {
          const shown = items.filter((each) => each.type === type);
          if (shown.length === 0) return <Empty text={t("NoValuesHaveBeenFoundIn")} />;
          return (
            <div className="scroll-x" tabIndex={0} role="region" aria-label={t("MeasurementsAsTable")}>
              <table className="plain stacked">
                <thead>
                  <tr>
                    {["Name", "Class", "Unit", "Possible", "Path", "From", "Devices"].map((each) => (
                      <th key={each} scope="col">
                        {each}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {shown.map((each) => (
                    <tr key={each.name}>
                      <th scope="row">
                        {mayDeclare ? (
                          <button type="button" className="link" onClick={() => setOpen(each)}>
                            {each.name}
                          </button>
                        ) : (
                          each.name
                        )}
                        {each.label && <span className="ink-2"> {each.label}</span>}
                      </th>
                      <td data-label={t("Class")}>{each.class}</td>
                      <td data-label={t("Unit")} className={each.unit ? undefined : "no-card"}>{each.unit ?? "–"}</td>
                      <td data-label={t("Possible")} className={boundsOf(each) === "–" ? "no-card" : undefined}>{boundsOf(each)}</td>
                      <td data-label={t("Path")}>
                        <span>
                          {t.rich("codeOfKind", { code: <code>{each.path}</code>, kind: each.kind })}
                        </span>
                      </td>
                      <td data-label={t("From")}>{each.isDeclared ? "declared" : "found"}</td>
                      <td className="number" data-label={t("Devices")}>
                        {each.devices.toLocaleString(LOCALE)}
                        {each.devicesAreMore ? "+" : ""}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          );
        }}
      </QueryView>
      {mayDeclare && (
        <div className="form-actions measurement-actions">
          <Button writes onClick={() => setOpen("new")}>
            {t("DeclareMeasurement")}
          </Button>
        </div>
      )}
      {open !== null && <MeasurementDialog type={type} groupId={groupId} item={open === "new" ? null : open} onClose={() => setOpen(null)} />}
    </Card>
  );
}
