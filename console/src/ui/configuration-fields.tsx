// A configuration is written as fields; what is no single value, and what no type knows, as JSON.
import { secondsWords } from "~/seconds";
import { labelOf, unitOf, type ConfigurationForm, type FieldValue, type JsonObject, type KnownValue } from "./configuration";
import { DurationField } from "./duration";
import { MoreFields, Select, TextArea, TextField } from "./field";
import { Facts } from "./page";
import { t } from "~/messages/ui";

const FLAGS = [
  ["", t("NotSet")],
  ["true", t("Yes")],
  ["false", t("No")],
] as const;

function OneValue({ name, value, onChange }: { name: string; value: FieldValue; onChange: (text: string) => void }) {
  const unit = unitOf(name);
  const hint = <code>{name}</code>;
  const label = labelOf(name);
  if (value.kind === "flag") return <Select label={label} hint={hint} options={FLAGS} value={value.text} onChange={(event) => onChange(event.target.value)} />;
  if (value.kind === "number" && unit === "s") return <DurationField label={label} hint={hint} placeholder="" error={undefined} text={value.text} onChange={onChange} />;
  return (
    <TextField
      label={unit ? `${label} (${unit})` : label}
      hint={hint}
      inputMode={value.kind === "number" ? "decimal" : undefined}
      value={value.text}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

export function ConfigurationFields({
  form,
  known,
  jsonLabel,
  error,
  onChange,
}: {
  form: ConfigurationForm;
  known: readonly KnownValue[];
  // What the JSON is called where nothing is known.
  jsonLabel: string;
  error: string | undefined;
  onChange: (change: Partial<ConfigurationForm>) => void;
}) {
  const set = (name: string, value: FieldValue) => onChange({ values: { ...form.values, [name]: value } });
  const more = known.filter((each) => !(each.name in form.values));
  const isAllJson = known.length === 0 && Object.keys(form.values).length === 0;
  const json = (
    <TextArea
      label={isAllJson ? jsonLabel : t("OtherValues")}
      isCode
      rows={Math.min(16, form.other.split("\n").length + 2)}
      placeholder="{}"
      hint={t("JSONObjectUseItForLists")}
      value={form.other}
      error={error}
      onChange={(event) => onChange({ other: event.target.value })}
    />
  );
  if (isAllJson) return json;
  return (
    <>
      <div className="configuration-fields">
        {Object.entries(form.values).map(([name, value]) => (
          <OneValue key={name} name={name} value={value} onChange={(text) => set(name, { ...value, text })} />
        ))}
      </div>
      {more.length > 0 && (
        <Select
          label={t("AddValue")}
          options={[["", t("ChooseValue")], ...more.map((each) => [each.name, `${labelOf(each.name)} (${each.types.join(", ")})`] as const)]}
          value=""
          onChange={(event) => {
            const found = more.find((each) => each.name === event.target.value);
            if (found) set(found.name, { kind: found.kind, text: found.example });
          }}
        />
      )}
      <MoreFields summary={t("OtherValuesAsJSON")} hasValue={form.other !== ""} error={error}>
        {json}
      </MoreFields>
    </>
  );
}

// A value as people read it: 21600 of `silentAfterSeconds` is "6 hours".
export function valueWords(name: string, value: unknown): string {
  const unit = unitOf(name);
  if (typeof value === "boolean") return value ? t("Yes") : t("No");
  if (typeof value === "number" && unit === "s") return secondsWords(value);
  if (typeof value === "number" || typeof value === "string") return unit ? `${value} ${unit}` : String(value);
  return JSON.stringify(value);
}

export function ConfigurationFacts({ configuration }: { configuration: JsonObject }) {
  const entries = Object.entries(configuration);
  if (entries.length === 0) return <p className="ink-2">{t("NothingIsSet")}</p>;
  return <Facts rows={entries.map(([name, value]) => [labelOf(name), <span key={name} title={name}>{valueWords(name, value)}</span>] as const)} />;
}
