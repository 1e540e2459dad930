// The condition of an alarm on a value, as a sentence with fields in it, or as expressions.
import type { ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { SEVERITIES } from "~/alarms/words";
import type { ApiProblem } from "~/api/client";
import { useMay } from "~/api/may";
import { byName, groupMeasurementsQuery, type NamedMeasurement } from "~/measurements/group-measurements";
import { measurementLabel } from "~/measurements/values";
import { useContactPoints } from "~/pages/contacts/queries";
import { nameOr } from "~/ui/name";
import { MoreFields, Select, TextArea, TextField, fieldError, fieldErrors } from "~/ui/field";
import { Duration, DurationField } from "~/ui/duration";
import { expressionOf } from "./condition";
import type { NotificationForm } from "./form";
import { notificationsQuery } from "./queries";

interface Props {
  groupId: string;
  form: NotificationForm;
  problem: ApiProblem | null;
  onChange: (change: Partial<NotificationForm>) => void;
}

// What the devices that it is for measure, by name.
export function useFormMeasurements(groupId: string, form: NotificationForm): readonly NamedMeasurement[] {
  const mayRead = useMay(groupId, "GET /group/measurements");
  const query = useQuery({ ...groupMeasurementsQuery(groupId), enabled: mayRead });
  const types = form.deviceTypes.split(/[,\s]+/).filter(Boolean);
  return byName((query.data ?? []).filter((each) => each.class !== "state" && (types.length === 0 || types.includes(each.type))));
}

function MeasurementInput({ form, error, items, onChange }: { form: NotificationForm; error: string | undefined; items: readonly NamedMeasurement[]; onChange: (name: string) => void }) {
  const common = { "aria-label": "Measurement", "aria-invalid": error ? (true as const) : undefined, value: form.measurement };
  // Where measurements may not be listed their names are typed.
  if (items.length === 0) return <input className="input sentence-name" placeholder="temperature" {...common} onChange={(event) => onChange(event.target.value)} />;
  const isKnown = form.measurement === "" || items.some((each) => each.name === form.measurement);
  return (
    <select className="input sentence-name" {...common} onChange={(event) => onChange(event.target.value)}>
      <option value="">a measurement</option>
      {!isKnown && <option value={form.measurement}>{form.measurement}</option>}
      {items.map((each) => (
        <option key={each.name} value={each.name}>
          {measurementLabel(each)}
        </option>
      ))}
    </select>
  );
}

const SENTENCE_FIELDS = ["measurement", "above", "below", "hysteresis", "for", "resolveFor", "severity"];

export function ConditionSentence({ groupId, form, problem, recipients, onChange }: Props & { recipients: string }) {
  const items = useFormMeasurements(groupId, form);
  const errorOf = (name: string) => fieldError(problem, `params.${name}`);
  const { direction } = form;
  const unit = items.find((each) => each.name === form.measurement)?.unit;
  const errors = SENTENCE_FIELDS.flatMap((name) => errorOf(name) ?? []);
  const number = (label: string, name: "limit" | "again", placeholder: string, error: string | undefined) => (
    <span className="sentence-part">
      <input className="input sentence-number" inputMode="decimal" aria-label={label} aria-invalid={error ? true : undefined} placeholder={placeholder} value={form[name]} onChange={(event) => onChange({ [name]: event.target.value })} />
      {unit && <span>{unit}</span>}
    </span>
  );
  return (
    <div className={`sentence-box ${errors.length > 0 ? "field-wrong" : ""}`}>
      <div className="sentence" role="group" aria-label="Condition">
        <span>When</span>
        <MeasurementInput form={form} error={errorOf("measurement")} items={items} onChange={(measurement) => onChange({ measurement })} />
        <span className="sentence-part">
          <span>is</span>
          <select className="input sentence-word" aria-label="Above or below" value={direction} onChange={(event) => onChange({ direction: event.target.value as "above" | "below" })}>
            <option value="above">above</option>
            <option value="below">below</option>
          </select>
        </span>
        {number("Limit", "limit", "15", errorOf(direction))}
        <span>for</span>
        <Duration label="For at least" text={form.heldFor} error={errorOf("for")} onChange={(heldFor) => onChange({ heldFor })} />
        <span className="sentence-words">
          notify <strong>{recipients || "the recipients below"}</strong>
        </span>
        <span className="sentence-part">
          <span>as</span>
          <SeveritySelect form={form} onChange={onChange} />
        </span>
        <span className="sentence-words">and again when it is back to normal: {direction === "below" ? "at or above" : "at or below"}</span>
        {number("Back to normal at", "again", form.limit || "15", errorOf("hysteresis"))}
        <span>for</span>
        <Duration label="Normal for at least" text={form.resolveFor} error={errorOf("resolveFor")} onChange={(resolveFor) => onChange({ resolveFor })} />
      </div>
      {errors.map((each, index) => (
        <p key={index} className="field-error">
          {each}
        </p>
      ))}
      <button type="button" className="link" onClick={() => onChange({ mode: "expression", ...(form.condition ? {} : expressionOf(form)) })}>
        Write it as an expression (CEL)
      </button>
    </div>
  );
}

function SeveritySelect({ form, onChange }: Pick<Props, "form" | "onChange">) {
  return (
    <select className="input sentence-word" aria-label="Severity" value={form.severity} onChange={(event) => onChange({ severity: event.target.value })}>
      {SEVERITIES.map((each) => (
        <option key={each} value={each}>
          {each}
        </option>
      ))}
    </select>
  );
}

export function ConditionExpressions({ form, problem, onChange }: Omit<Props, "groupId">) {
  return (
    <>
      <TextArea
        label="Condition"
        hint={
          <>
            CEL over <code>values</code> (current values by name), <code>device</code> and <code>message</code>. For example values.temperature &gt; double(device.configuration.limit), or values.moisture &lt; 15.0 &amp;&amp; "roof" in device.tags
          </>
        }
        isCode
        rows={2}
        value={form.condition}
        error={fieldError(problem, "params.condition")}
        onChange={(event) => onChange({ condition: event.target.value })}
      />
      <TextArea label="Back to normal if" hint="Empty: when the condition is false." isCode rows={2} value={form.resolve} error={fieldError(problem, "params.resolve")} onChange={(event) => onChange({ resolve: event.target.value })} />
      <div className="condition-times">
        <DurationField label="For at least" hint="Before it is raised." text={form.heldFor} error={fieldError(problem, "params.for")} onChange={(heldFor) => onChange({ heldFor })} />
        <DurationField label="Normal for at least" hint="Before it is resolved." text={form.resolveFor} error={fieldError(problem, "params.resolveFor")} onChange={(resolveFor) => onChange({ resolveFor })} />
      </div>
      <button type="button" className="link" onClick={() => onChange({ mode: "limit" })}>
        Write it as a sentence
      </button>
    </>
  );
}

const STALE_WORDS = [
  ["keep", "the alarm stays as it is"],
  ["resolve", "the alarm is resolved"],
  ["raise", "it is raised for lack of data"],
] as const;
const MORE_FIELDS = ["forMessages", "staleAfter", "onStale", "repeatEvery", "escalateAfter", "escalateTo"].map((each) => `params.${each}`);

// What most alarms do without. `notificationId` is the one that is edited: it cannot call itself.
export function AlarmMore({ groupId, form, problem, isMeasured, notificationId, children, onChange }: Props & { isMeasured: boolean; notificationId: string | undefined; children?: ReactNode }) {
  const mayList = useMay(groupId, "GET /notification/notifications");
  const notifications = useQuery({ ...notificationsQuery(groupId), enabled: mayList });
  const others = (notifications.data ?? []).filter((each) => each.id !== notificationId);
  const { all: contacts } = useContactPoints(groupId);
  const { forMessages, staleAfter, repeatEvery, escalateAfter, escalateTo } = form;
  const options: (readonly [string, string])[] = [["", "nobody else"]];
  for (const each of contacts) options.push([each.id, `${nameOr(each.name, each.id)} (contact point)`]);
  for (const each of others) options.push([each.id, `${nameOr(each.name, each.id)} (notification)`]);
  if (escalateTo && !options.some(([id]) => id === escalateTo)) options.push([escalateTo, escalateTo]);
  return (
    <MoreFields
      summary={isMeasured ? "Records in a row, missing values, repeats, escalation" : "Repeats, escalation"}
      hasValue={Boolean(repeatEvery || escalateAfter || escalateTo || (isMeasured && (forMessages || staleAfter)))}
      error={fieldErrors(problem, MORE_FIELDS)}
      refusal={problem}
    >
      {isMeasured && (
        <>
          <TextField
            label="Records in a row"
            hint="The condition must hold for all of them; empty for one."
            inputMode="numeric"
            value={forMessages}
            error={fieldError(problem, "params.forMessages")}
            onChange={(event) => onChange({ forMessages: event.target.value })}
          />
          <DurationField label="A value holds for" hint="Empty: until the next one." placeholder="" text={staleAfter} error={fieldError(problem, "params.staleAfter")} onChange={(text) => onChange({ staleAfter: text })} />
          <Select label="If no value arrives by then" options={STALE_WORDS} error={fieldError(problem, "params.onStale")} value={form.onStale} onChange={(event) => onChange({ onStale: event.target.value })} />
        </>
      )}
      <DurationField
        label="Sent again every"
        hint="While it is open and nobody has acknowledged it; empty for once."
        placeholder=""
        text={repeatEvery}
        error={fieldError(problem, "params.repeatEvery")}
        onChange={(text) => onChange({ repeatEvery: text })}
      />
      <Select
        label="If nobody acknowledges it, send it to"
        options={options}
        error={fieldError(problem, "params.escalateTo")}
        value={escalateTo}
        onChange={(event) => onChange({ escalateTo: event.target.value })}
      />
      <DurationField label="After" hint="Since it was raised." placeholder="" text={escalateAfter} error={fieldError(problem, "params.escalateAfter")} onChange={(text) => onChange({ escalateAfter: text })} />
      {children}
    </MoreFields>
  );
}

// Of alarms without a sentence.
export function SeverityField({ form, problem, onChange }: Omit<Props, "groupId">) {
  return <Select label="Severity" options={SEVERITIES.map((each) => [each, each] as const)} error={fieldError(problem, "params.severity")} value={form.severity} onChange={(event) => onChange({ severity: event.target.value })} />;
}
