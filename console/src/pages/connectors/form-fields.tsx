// The fields of a connector: used to edit one and to create one.
import { useQuery } from "@tanstack/react-query";
import { api, read, type ApiProblem } from "~/api/client";
import { DevicesField } from "~/pages/devices/device-picker";
import { Checkbox, Select, TextArea, TextField, fieldError } from "~/ui/field";
import { words, type ConnectorForm } from "./form";
import { KINDS, chosenKinds, kindsText } from "./kinds";
import { paramError, type FormField } from "./schema-form";
import { SchemaFields, TypeFields } from "./schema-fields";

export interface FormProps {
  form: ConnectorForm;
  fields: readonly FormField[];
  problem: ApiProblem | null;
  // The last refusal to save, where `problem` may be of a draft that was tried.
  refusal?: ApiProblem | null;
  onChange: (change: Partial<ConnectorForm>) => void;
}

export function ParamFields({ form, fields, problem, refusal, onChange }: FormProps) {
  return (
    <TypeFields
      fields={fields.filter((each) => each.path !== "template" && each.path !== "kinds")}
      isShown={(each) => each.isRequired || each.path === "subgroups"}
      values={form.values}
      problem={problem}
      refusal={refusal}
      onChange={(path, value) => onChange({ values: { ...form.values, [path]: value } })}
    />
  );
}

// What is forwarded; the last kind that is left cannot be taken away.
export function KindsField({ form, fields, problem, onChange }: FormProps) {
  const field = fields.find((each) => each.path === "kinds");
  if (!field) return null;
  const chosen = chosenKinds(form.values.kinds);
  const toggle = (kind: string, isOn: boolean) => onChange({ values: { ...form.values, kinds: kindsText(chosen, kind, isOn) } });
  const error = paramError(problem, fields, field);
  return (
    <fieldset className="kinds">
      <legend className="field-label">Kinds</legend>
      {KINDS.map(({ kind, label, hint }) => (
        <Checkbox
          key={kind}
          label={label}
          hint={hint}
          checked={chosen.includes(kind)}
          disabled={chosen.length === 1 && chosen[0] === kind}
          onChange={(event) => toggle(kind, event.target.checked)}
        />
      ))}
      {error && <p className="field-error">{error}</p>}
    </fieldset>
  );
}

export function ScopeFields({ groupId, form, problem, onChange }: FormProps & { groupId: string }) {
  const types = useQuery({
    queryKey: ["device-type-names"],
    queryFn: async ({ signal }) => (await read(api.GET("/device/types", { params: { query: { limit: 500 } }, signal }))).items.flatMap((each) => each.name ?? []),
    staleTime: 300_000,
  });
  return (
    <>
      <TextField
        label="Only of these device types"
        hint={`Separated by commas; empty for all.${types.data?.length ? ` There are ${types.data.slice(0, 12).join(", ")}${types.data.length > 12 ? ", …" : ""}.` : ""}`}
        error={fieldError(problem, "deviceTypes")}
        value={form.deviceTypes}
        onChange={(event) => onChange({ deviceTypes: event.target.value })}
      />
      <DevicesField
        groupId={groupId}
        label="Only of these devices"
        hint="None chosen: of all."
        error={fieldError(problem, "deviceIds")}
        ids={words(form.deviceIds)}
        onChange={(ids) => onChange({ deviceIds: ids.join(", ") })}
      />
    </>
  );
}

const FORMAT_HINTS: Readonly<Record<string, string>> = {
  json: "One flat object: the id of the message, the kind, the fields of the record and of its device.",
  cloudevents: "A CloudEvents 1.0 envelope with the same object in its data.",
  raw: "The data of the record, exactly as it was stored.",
  custom: "The result of an expression of your own.",
};

export function FormatFields({ form, fields, problem, onChange, formats }: FormProps & { formats: readonly string[] }) {
  const template = fields.filter((each) => each.path === "template");
  return (
    <>
      <Select
        label="Format"
        hint={FORMAT_HINTS[form.format]}
        error={fieldError(problem, "format")}
        options={formats.map((each) => [each, each])}
        value={form.format}
        onChange={(event) => onChange({ format: event.target.value as ConnectorForm["format"] })}
      />
      {form.format === "custom" && (
        <SchemaFields fields={template} values={form.values} problem={problem} onChange={(path, value) => onChange({ values: { ...form.values, [path]: value } })} />
      )}
    </>
  );
}

export function NameFields({ form, problem, onChange }: FormProps) {
  return (
    <>
      <TextField label="Name" error={fieldError(problem, "name")} value={form.name} onChange={(event) => onChange({ name: event.target.value })} />
      <TextArea label="Description" error={fieldError(problem, "description")} rows={2} value={form.description} onChange={(event) => onChange({ description: event.target.value })} />
      <TextField label="Tags" hint="Separated by commas." error={fieldError(problem, "tags")} value={form.tags} onChange={(event) => onChange({ tags: event.target.value })} />
    </>
  );
}

export const POLICY_NAMES = ["retryPolicy", "dataFailurePolicy"];

export function PolicyFields({ form, problem, onChange }: FormProps) {
  return (
    <>
      <TextField
        label="Retries"
        hint="After the first attempt. Empty, with the next field: 4 retries within 2 h, with growing delays."
        inputMode="numeric"
        error={fieldError(problem, "retryPolicy.maxRetry") ?? fieldError(problem, "retryPolicy")}
        value={form.maxRetry}
        onChange={(event) => onChange({ maxRetry: event.target.value })}
      />
      <TextField
        label="Seconds between attempts"
        hint="One number, or one for each retry, separated by commas; then leave the number of retries empty."
        error={fieldError(problem, "retryPolicy.retryDelay") ?? fieldError(problem, "retryPolicy.delays")}
        value={form.retryDelay}
        onChange={(event) => onChange({ retryDelay: event.target.value })}
      />
      <TextField
        label="Days that dead letters are kept"
        hint="0 for not at all, 30 at most."
        inputMode="decimal"
        error={fieldError(problem, "dataFailurePolicy")}
        value={form.keepDays}
        onChange={(event) => onChange({ keepDays: event.target.value })}
      />
    </>
  );
}
