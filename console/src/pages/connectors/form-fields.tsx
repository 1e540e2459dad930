// The fields of a connector: used to edit one and to create one.
import { useQuery } from "@tanstack/react-query";
import { api, read, type ApiProblem } from "~/api/client";
import { DevicesField } from "~/pages/devices/device-picker";
import { Checkbox, Select, TextArea, TextField, fieldError } from "~/ui/field";
import { words, type ConnectorForm } from "./form";
import { KINDS, chosenKinds, kindsText } from "./kinds";
import { paramError, type FormField } from "./schema-form";
import { SchemaFields, TypeFields } from "./schema-fields";
import { t } from "~/messages/connectors";

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
      <legend className="field-label">{t("Kinds")}</legend>
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
        label={t("OnlyOfTheseDeviceTypes")}
        hint={t("SeparatedByCommasEmptyForAll", { value: types.data?.length ? ` ${t("ThereAreValueValue2", { value: types.data.slice(0, 12).join(", "), value2: types.data.length > 12 ? ", …" : "" })}` : "" })}
        error={fieldError(problem, "deviceTypes")}
        value={form.deviceTypes}
        onChange={(event) => onChange({ deviceTypes: event.target.value })}
      />
      <DevicesField
        groupId={groupId}
        label={t("OnlyOfTheseDevices")}
        hint={t("NoneChosenOfAll")}
        error={fieldError(problem, "deviceIds")}
        ids={words(form.deviceIds)}
        onChange={(ids) => onChange({ deviceIds: ids.join(", ") })}
      />
    </>
  );
}

const FORMAT_HINTS: Readonly<Record<string, string>> = {
  json: t("OneFlatObjectIdOfMessage"),
  cloudevents: t("CloudEvents10EnvelopeWithSame"),
  raw: t("dataOfRecordExactlyAsIt"),
  custom: t("resultOfExpressionOfYourOwn"),
};

export function FormatFields({ form, fields, problem, onChange, formats }: FormProps & { formats: readonly string[] }) {
  const template = fields.filter((each) => each.path === "template");
  return (
    <>
      <Select
        label={t("Format")}
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
      <TextField label={t("Name")} error={fieldError(problem, "name")} value={form.name} onChange={(event) => onChange({ name: event.target.value })} />
      <TextArea label={t("Description")} error={fieldError(problem, "description")} rows={2} value={form.description} onChange={(event) => onChange({ description: event.target.value })} />
      <TextField label={t("Tags")} hint={t("SeparatedByCommas")} error={fieldError(problem, "tags")} value={form.tags} onChange={(event) => onChange({ tags: event.target.value })} />
    </>
  );
}

export const POLICY_NAMES = ["retryPolicy", "dataFailurePolicy"];

export function PolicyFields({ form, problem, onChange }: FormProps) {
  return (
    <>
      <TextField
        label={t("Retries")}
        hint={t("AfterFirstAttemptEmptyWithNext")}
        inputMode="numeric"
        error={fieldError(problem, "retryPolicy.maxRetry") ?? fieldError(problem, "retryPolicy")}
        value={form.maxRetry}
        onChange={(event) => onChange({ maxRetry: event.target.value })}
      />
      <TextField
        label={t("SecondsBetweenAttempts")}
        hint={t("OneNumberOrOneForEach")}
        error={fieldError(problem, "retryPolicy.retryDelay") ?? fieldError(problem, "retryPolicy.delays")}
        value={form.retryDelay}
        onChange={(event) => onChange({ retryDelay: event.target.value })}
      />
      <TextField
        label={t("DaysThatDeadLettersAreKept")}
        hint={t("n0ForNotAtAll30")}
        inputMode="decimal"
        error={fieldError(problem, "dataFailurePolicy")}
        value={form.keepDays}
        onChange={(event) => onChange({ keepDays: event.target.value })}
      />
    </>
  );
}
