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
import { t } from "~/messages/notifications";

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
  const common = { "aria-label": t("Measurement"), "aria-invalid": error ? (true as const) : undefined, value: form.measurement };
  // Where measurements may not be listed their names are typed.
  if (items.length === 0) return <input className="input sentence-name" placeholder={t("temperature")} {...common} onChange={(event) => onChange(event.target.value)} />;
  const isKnown = form.measurement === "" || items.some((each) => each.name === form.measurement);
  return (
    <select className="input sentence-name" {...common} onChange={(event) => onChange(event.target.value)}>
      <option value="">{t("measurement")}</option>
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
      <div className="sentence" role="group" aria-label={t("Condition")}>
        <span>{t("When")}</span>
        <MeasurementInput form={form} error={errorOf("measurement")} items={items} onChange={(measurement) => onChange({ measurement })} />
        <span className="sentence-part">
          <span>{t("is")}</span>
          <select className="input sentence-word" aria-label={t("AboveOrBelow")} value={direction} onChange={(event) => onChange({ direction: event.target.value as "above" | "below" })}>
            <option value="above">{t("above")}</option>
            <option value="below">{t("below")}</option>
          </select>
        </span>
        {number(t("Limit"), "limit", "15", errorOf(direction))}
        <span>{t("for")}</span>
        <Duration label={t("ForAtLeast")} text={form.heldFor} error={errorOf("for")} onChange={(heldFor) => onChange({ heldFor })} />
        <span className="sentence-words">
          {t.rich("notifyStrong", { strong: <strong>{recipients || t("recipientsBelow")}</strong> })}
        </span>
        <span className="sentence-part">
          <span>{t("as")}</span>
          <SeveritySelect form={form} onChange={onChange} />
        </span>
        <span className="sentence-words">{t("andAgainWhenItIsBack", { value: direction === "below" ? t("atOrAbove") : t("atOrBelow") })}</span>
        {number(t("BackToNormalAt"), "again", form.limit || "15", errorOf("hysteresis"))}
        <span>{t("for")}</span>
        <Duration label={t("NormalForAtLeast")} text={form.resolveFor} error={errorOf("resolveFor")} onChange={(resolveFor) => onChange({ resolveFor })} />
      </div>
      {errors.map((each, index) => (
        <p key={index} className="field-error">
          {each}
        </p>
      ))}
      <button type="button" className="link" onClick={() => onChange({ mode: "expression", ...(form.condition ? {} : expressionOf(form)) })}>
        {t("WriteItAsExpressionCEL")}
      </button>
    </div>
  );
}

function SeveritySelect({ form, onChange }: Pick<Props, "form" | "onChange">) {
  return (
    <select className="input sentence-word" aria-label={t("Severity")} value={form.severity} onChange={(event) => onChange({ severity: event.target.value })}>
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
        label={t("Condition")}
        hint={
          <>
            {t.rich("CELOverCodeCurrentValuesBy", { code: <code>values</code>, code2: <code>device</code>, code3: <code>message</code> })}
          </>
        }
        isCode
        rows={2}
        value={form.condition}
        error={fieldError(problem, "params.condition")}
        onChange={(event) => onChange({ condition: event.target.value })}
      />
      <TextArea label={t("BackToNormalIf")} hint={t("EmptyWhenConditionIsFalse")} isCode rows={2} value={form.resolve} error={fieldError(problem, "params.resolve")} onChange={(event) => onChange({ resolve: event.target.value })} />
      <div className="condition-times">
        <DurationField label={t("ForAtLeast")} hint={t("BeforeItIsRaised")} text={form.heldFor} error={fieldError(problem, "params.for")} onChange={(heldFor) => onChange({ heldFor })} />
        <DurationField label={t("NormalForAtLeast")} hint={t("BeforeItIsResolved")} text={form.resolveFor} error={fieldError(problem, "params.resolveFor")} onChange={(resolveFor) => onChange({ resolveFor })} />
      </div>
      <button type="button" className="link" onClick={() => onChange({ mode: "limit" })}>
        {t("WriteItAsSentence")}
      </button>
    </>
  );
}

const STALE_WORDS = [
  ["keep", t("alarmStaysAsItIs")],
  ["resolve", t("alarmIsResolved")],
  ["raise", t("itIsRaisedForLackOf")],
] as const;
const MORE_FIELDS = ["forMessages", "staleAfter", "onStale", "repeatEvery", "escalateAfter", "escalateTo"].map((each) => `params.${each}`);

// What most alarms do without. `notificationId` is the one that is edited: it cannot call itself.
export function AlarmMore({ groupId, form, problem, isMeasured, notificationId, children, onChange }: Props & { isMeasured: boolean; notificationId: string | undefined; children?: ReactNode }) {
  const mayList = useMay(groupId, "GET /notification/notifications");
  const notifications = useQuery({ ...notificationsQuery(groupId), enabled: mayList });
  const others = (notifications.data ?? []).filter((each) => each.id !== notificationId);
  const { all: contacts } = useContactPoints(groupId);
  const { forMessages, staleAfter, repeatEvery, escalateAfter, escalateTo } = form;
  const options: (readonly [string, string])[] = [["", t("nobodyElse")]];
  for (const each of contacts) options.push([each.id, t("nameContactPoint", { name: nameOr(each.name, each.id) })]);
  for (const each of others) options.push([each.id, t("nameNotification", { name: nameOr(each.name, each.id) })]);
  if (escalateTo && !options.some(([id]) => id === escalateTo)) options.push([escalateTo, escalateTo]);
  return (
    <MoreFields
      summary={isMeasured ? t("RecordsInRowMissingValuesRepeats") : t("RepeatsEscalation")}
      hasValue={Boolean(repeatEvery || escalateAfter || escalateTo || (isMeasured && (forMessages || staleAfter)))}
      error={fieldErrors(problem, MORE_FIELDS)}
      refusal={problem}
    >
      {isMeasured && (
        <>
          <TextField
            label={t("RecordsInRow")}
            hint={t("conditionMustHoldForAllOf")}
            inputMode="numeric"
            value={forMessages}
            error={fieldError(problem, "params.forMessages")}
            onChange={(event) => onChange({ forMessages: event.target.value })}
          />
          <DurationField label={t("valueHoldsFor")} hint={t("EmptyUntilNextOne")} placeholder="" text={staleAfter} error={fieldError(problem, "params.staleAfter")} onChange={(text) => onChange({ staleAfter: text })} />
          <Select label={t("IfNoValueArrivesByThen")} options={STALE_WORDS} error={fieldError(problem, "params.onStale")} value={form.onStale} onChange={(event) => onChange({ onStale: event.target.value })} />
        </>
      )}
      <DurationField
        label={t("SentAgainEvery")}
        hint={t("WhileItIsOpenAndNobody")}
        placeholder=""
        text={repeatEvery}
        error={fieldError(problem, "params.repeatEvery")}
        onChange={(text) => onChange({ repeatEvery: text })}
      />
      <Select
        label={t("IfNobodyAcknowledgesItSendIt")}
        options={options}
        error={fieldError(problem, "params.escalateTo")}
        value={escalateTo}
        onChange={(event) => onChange({ escalateTo: event.target.value })}
      />
      <DurationField label={t("After")} hint={t("SinceItWasRaised")} placeholder="" text={escalateAfter} error={fieldError(problem, "params.escalateAfter")} onChange={(text) => onChange({ escalateAfter: text })} />
      {children}
    </MoreFields>
  );
}

// Of alarms without a sentence.
export function SeverityField({ form, problem, onChange }: Omit<Props, "groupId">) {
  return <Select label={t("Severity")} options={SEVERITIES.map((each) => [each, each] as const)} error={fieldError(problem, "params.severity")} value={form.severity} onChange={(event) => onChange({ severity: event.target.value })} />;
}
