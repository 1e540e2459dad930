import { useState } from "react";
import type { ApiProblem } from "~/api/client";
import { Button } from "~/ui/button";
import { Checkbox, MoreFields, Select, TextArea, TextField } from "~/ui/field";
import { MASK, mapLines, paramError, parseMapLines, type FormField, type FormValues } from "./schema-form";
import { t } from "~/messages/connectors";

interface OneProps {
  field: FormField;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}

// Backticks of a description mark names; they are shown as they are typed.
function Description({ text }: { text: string }) {
  return (
    <>
      {text.split("`").map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))}
    </>
  );
}

// A secret that is stored is never shown: it is kept, replaced or removed.
function SecretField({ field, value, error, onChange }: OneProps) {
  if (value === MASK)
    return (
      <div className="field">
        <span className="field-label">{field.label}</span>
        <div className="secret-set">
          {t.rich("codeIsSet", { code: <code>{MASK}</code> })}
          <Button onClick={() => onChange("")} aria-label={t("ReplaceLabel", { label: field.label })}>
            {t("Replace")}
          </Button>
        </div>
        {error && <p className="field-error">{error}</p>}
      </div>
    );
  return (
    <TextField
      label={field.label}
      hint={<Description text={field.description} />}
      error={error}
      type="password"
      autoComplete="off"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

// Names and values, such as headers; values that are stored are masked.
function MapField({ field, value, error, onChange }: OneProps) {
  const [isAdding, setAdding] = useState(false);
  const entries = Object.entries(parseMapLines(value));
  const set = (next: [string, string][]) => onChange(mapLines(Object.fromEntries(next)));
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  const add = () => {
    if (!name.trim()) return;
    set([...entries.filter(([each]) => each !== name.trim()), [name.trim(), text]]);
    setName("");
    setText("");
    setAdding(false);
  };
  return (
    <fieldset className="map-field">
      <legend className="field-label">{field.label}</legend>
      {entries.map(([each, held]) => (
        <div key={each} className="map-row">
          <code>{each}</code> <code>{field.isSecret ? MASK : held}</code>
          <Button look="quiet" aria-label={t("RemoveEach", { each })} onClick={() => set(entries.filter(([other]) => other !== each))}>
            {t("Remove")}
          </Button>
        </div>
      ))}
      {isAdding ? (
        <div className="map-row">
          <input className="input" aria-label={t("Name")} placeholder={t("Name")} value={name} onChange={(event) => setName(event.target.value)} />
          <input className="input" aria-label={t("Value")} placeholder={t("Value")} type={field.isSecret ? "password" : "text"} autoComplete="off" value={text} onChange={(event) => setText(event.target.value)} />
          <Button onClick={add}>{t("Add")}</Button>
        </div>
      ) : (
        <div>
          <Button onClick={() => setAdding(true)}>{t("AddOne")}</Button>
        </div>
      )}
      {error && <p className="field-error">{error}</p>}
      <p className="field-hint">
        <Description text={field.description} />
      </p>
    </fieldset>
  );
}

function OneField(props: OneProps) {
  const { field, value, error, onChange } = props;
  const label = field.isRequired ? t("labelRequired", { label: field.label }) : field.label;
  const hint = field.description ? <Description text={field.description} /> : undefined;
  if (field.kind === "secret") return <SecretField {...props} />;
  if (field.kind === "map") return <MapField {...props} />;
  if (field.kind === "flag")
    return <Checkbox label={label} hint={hint} checked={value === "true"} onChange={(event) => onChange(event.target.checked ? "true" : "")} />;
  if (field.kind === "choice")
    return (
      <Select
        label={label}
        hint={hint}
        error={error}
        options={field.choices.map((each) => [each, each])}
        value={value || String(field.fallback ?? field.choices[0] ?? "")}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  if (field.path === "template" || field.kind === "json")
    return <TextArea label={label} hint={hint} error={error} isCode value={value} onChange={(event) => onChange(event.target.value)} />;
  return (
    <TextField
      label={label}
      hint={hint}
      error={error}
      inputMode={field.kind === "number" ? "decimal" : undefined}
      placeholder={field.placeholder || (typeof field.fallback === "number" ? String(field.fallback) : undefined)}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

interface FieldsProps {
  fields: readonly FormField[];
  values: FormValues;
  problem: ApiProblem | null;
  onChange: (path: string, value: string) => void;
}

export function SchemaFields({ fields, values, problem, onChange }: FieldsProps) {
  return fields.map((field) => (
    <OneField
      key={field.path}
      field={field}
      value={values[field.path] ?? ""}
      error={paramError(problem, fields, field)}
      onChange={(value) => onChange(field.path, value)}
    />
  ));
}

// The fields of a type: some are always shown, the others can be unfolded.
export function TypeFields({ isShown, refusal, ...props }: FieldsProps & { isShown: (field: FormField) => boolean; refusal?: ApiProblem | null | undefined }) {
  const shown = props.fields.filter(isShown);
  const more = props.fields.filter((each) => !isShown(each));
  const errors = more.flatMap((each) => paramError(props.problem, more, each) ?? []);
  return (
    <>
      <SchemaFields {...props} fields={shown} />
      {more.length > 0 && (
        <MoreFields summary={t("MoreSettingsOfThisType")} hasValue={more.some((each) => props.values[each.path])} error={errors.join(" ") || undefined} refusal={refusal ?? null}>
          <SchemaFields {...props} fields={more} />
        </MoreFields>
      )}
    </>
  );
}
