// The fields of a report: used to edit one and to create one.
import { useId, type ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { ALARM_REASONS, SEVERITIES } from "~/alarms/words";
import type { ApiProblem } from "~/api/client";
import { mayCall, useMay, useRights, type Rights } from "~/api/may";
import type { Operation } from "~/api/permissions";
import { byName, groupMeasurementsQuery } from "~/measurements/group-measurements";
import { MeasurementsChoice } from "~/measurements/picker";
import { measurementLabel } from "~/measurements/values";
import { TypeFields } from "~/pages/connectors/schema-fields";
import type { FormField } from "~/pages/connectors/schema-form";
import { DevicesField } from "~/pages/devices/device-picker";
import { deviceTypesQuery } from "~/pages/devices/queries";
import { Button } from "~/ui/button";
import { Checkbox, MoreFields, Select, TextArea, TextField, fieldError, fieldErrors } from "~/ui/field";
import { Card } from "~/ui/page";
import { addressErrors, listOf, otherErrors, problemOfWebhook, type Content, type ReportForm } from "./form";
import { COMBINE_WORDS, KIND_WORDS, OF_WORDS, SEEN_WORDS, SPAN_WORDS, STATE_WORDS, aboutWords, spanOfSeries, whenWords } from "./summary";
import { t } from "~/messages/reports";

interface Props {
  groupId: string;
  form: ReportForm;
  // Of a webhook.
  fields: readonly FormField[];
  // Why none can be sent by mail.
  noMail: string | undefined;
  problem: ApiProblem | null;
  onChange: (change: Partial<ReportForm>) => void;
}

type Options = readonly (readonly [string, string])[];

// Contents, what each is, and what reading it takes.
const CONTENTS: readonly (readonly [Content, string, string, Operation])[] = [
  ["series", t("NumbersOfMeasurement"), t("ByHourOrDayOfEach"), "GET /group/series"],
  ["records", t("Records"), t("EachRecordThatArrivedInPeriod"), "GET /records/export"],
  ["devices", t("Devices"), t("listOfDevicesAsItIs"), "GET /devices/export"],
  ["alarms", t("Alarms"), t("ThoseThatWereRaisedInPeriod"), "GET /group/alarms"],
];

// The first one that somebody may read.
export function firstContent(rights: Rights): Content {
  return (CONTENTS.find(([, , , operation]) => mayCall(rights, operation)) ?? CONTENTS[0])?.[0] ?? "series";
}

const COLUMNS_MAX = 20;
const SERIES_DEVICES_MAX = 1_000;
const EVERY: Options = [
  ["day", "day"],
  ["week", t("Monday")],
  ["month", t("firstOfMonth")],
];
const FORMATS: Options = [
  ["xlsx", t("spreadsheetXLSX")],
  ["csv", "CSV"],
];

// One that is chosen, and not offered here, stays.
function withChosen(options: Options, value: string): Options {
  return options.some(([each]) => each === value) ? options : [...options, [value, value]];
}

function optionsOf(words: Readonly<Record<string, string>>, first: string): Options {
  return [["", first], ...Object.entries(words)];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function capitals(options: Options): Options {
  return options.map(([value, words]) => [value, capital(words)]);
}

function MeasurementField({ groupId, form, problem, onChange }: Props) {
  const mayRead = useMay(groupId, "GET /group/measurements");
  const query = useQuery({ ...groupMeasurementsQuery(groupId), enabled: mayRead });
  const items = byName((query.data ?? []).filter((each) => each.class !== "state" && (!form.type || each.type === form.type)));
  const error = fieldError(problem, "parameters.measurement");
  // Where measurements may not be listed, or there are none yet, their names are typed.
  if (items.length === 0)
    return <TextField label={t("Measurement")} placeholder={t("temperature")} error={error} value={form.measurement} onChange={(event) => onChange({ measurement: event.target.value })} />;
  const options: Options = [["", t("ChooseMeasurement")], ...items.map((each) => [each.name, each.unit ? `${measurementLabel(each)} (${each.unit})` : measurementLabel(each)] as const)];
  return <Select label={t("Measurement")} error={error} options={withChosen(options, form.measurement)} value={form.measurement} onChange={(event) => onChange({ measurement: event.target.value })} />;
}

function TypeField({ form, problem, onChange }: Props) {
  const query = useQuery(deviceTypesQuery);
  const names = (query.data ?? []).flatMap((each) => each.name ?? []).sort();
  const options: Options = [["", t("AnyType")], ...names.map((each) => [each, each] as const)];
  return <Select label={t("DeviceType")} error={fieldError(problem, "parameters.type")} options={withChosen(options, form.type)} value={form.type} onChange={(event) => onChange({ type: event.target.value })} />;
}

// Measurements that get a column each.
function ColumnsField({ groupId, form, problem, hint, onChange }: Props & { hint: string }) {
  const id = useId();
  const mayRead = useMay(groupId, "GET /group/measurements");
  const error = fieldError(problem, "parameters.values");
  const chosen = listOf(form.columns);
  const set = (names: readonly string[]) => onChange({ columns: names.join(",") });
  if (!mayRead) return null;
  return (
    <div className={`field ${error ? "field-wrong" : ""}`} role="group" aria-labelledby={`${id}-label`} aria-describedby={`${id}-hint`}>
      <span className="field-label" id={`${id}-label`}>
        {t("Values")}
      </span>
      <div className="chips">
        {chosen.map((each) => (
          <button key={each} type="button" className="chip" aria-label={t("RemoveEach", { each })} onClick={() => set(chosen.filter((other) => other !== each))}>
            {each} <span aria-hidden="true">×</span>
          </button>
        ))}
        <MeasurementsChoice groupId={groupId} label={chosen.length === 0 ? t("ChooseMeasurements") : t("Measurements")} chosen={chosen} max={COLUMNS_MAX} onChange={set} />
      </div>
      {error && <p className="field-error">{error}</p>}
      <p className="field-hint" id={`${id}-hint`}>
        {hint}
      </p>
    </div>
  );
}

function SubgroupsField({ form, problem, onChange }: Props) {
  const error = fieldError(problem, "parameters.subgroups");
  return (
    <div>
      <Checkbox label={t("WithGroupsBelow")} checked={form.subgroups === "true"} onChange={(event) => onChange({ subgroups: event.target.checked ? "true" : "" })} />
      {error && <p className="field-error">{error}</p>}
    </div>
  );
}

function ChosenDevices({ groupId, form, problem, max, onChange }: Props & { max: number }) {
  const ids = listOf(form.devices).slice(0, max);
  return (
    <DevicesField
      groupId={groupId}
      label={t("WhichDevices", { count: max })}
      noneLabel={t("AllDevices", { count: max })}
      error={fieldError(problem, "parameters.deviceId")}
      ids={ids}
      max={max}
      onChange={(chosen) => onChange({ devices: chosen.join(",") })}
    />
  );
}

function ParameterText({ form, problem, name, field, label, hint, inputMode, onChange }: Props & { name: string; field: "tags" | "q" | "batteryBelow" | "percentile"; label: string; hint?: string; inputMode?: "decimal" }) {
  return <TextField label={label} hint={hint} inputMode={inputMode} error={fieldError(problem, `parameters.${name}`)} value={form[field]} onChange={(event) => onChange({ [field]: event.target.value })} />;
}

function ParameterSelect({ form, problem, name, label, options, onChange }: Props & { name: "kind" | "of" | "combine" | "calendarSpan" | "seen" | "state" | "severity" | "reason"; label: string; options: Options }) {
  return <Select label={label} error={fieldError(problem, `parameters.${name}`)} options={capitals(withChosen(options, form[name]))} value={form[name]} onChange={(event) => onChange({ [name]: event.target.value })} />;
}

function SeriesFields(props: Props) {
  const { form, problem } = props;
  return (
    <>
      <div className="report-choices">
        <MeasurementField {...props} />
        <ParameterSelect {...props} name="combine" label={t("DevicesTogether")} options={optionsOf(COMBINE_WORDS, t("togetherAsFitsMeasurement"))} />
        {form.combine === "percentile" && <ParameterText {...props} name="percentile" field="percentile" label={t("Percentile")} hint={t("From0To100")} inputMode="decimal" />}
        <ParameterSelect {...props} name="of" label={t("ValueOfEach")} options={optionsOf(OF_WORDS, t("asFitsMeasurement"))} />
        <ParameterSelect {...props} name="calendarSpan" label={t("Rows")} options={optionsOf(SPAN_WORDS, t("everyAsFitsPeriod", { every: spanOfSeries(form.every, "") }))} />
      </div>
      <ChosenDevices {...props} max={SERIES_DEVICES_MAX} />
      <SubgroupsField {...props} />
      <MoreFields summary={t("OnlyOfTypeOrWithTags")} hasValue={Boolean(form.type || form.tags)} error={fieldErrors(problem, ["parameters.type", "parameters.tags"])} refusal={problem}>
        <div className="report-choices">
          <TypeField {...props} />
          <ParameterText {...props} name="tags" field="tags" label={t("Tags")} hint={t("SeparatedByCommasDeviceHasEach")} />
        </div>
      </MoreFields>
    </>
  );
}

function RecordFields(props: Props) {
  return (
    <>
      <div className="report-choices">
        <ParameterSelect {...props} name="kind" label={t("Kind")} options={Object.entries(KIND_WORDS)} />
        <ChosenDevices {...props} max={1} />
      </div>
      <ColumnsField {...props} hint={t("EachGetsColumnBesideThoseOf")} />
      <SubgroupsField {...props} />
    </>
  );
}

function DeviceFields(props: Props) {
  const { form, problem } = props;
  return (
    <>
      <div className="report-choices">
        <TypeField {...props} />
        <ParameterText {...props} name="tag" field="tags" label={t("Tag")} />
        <ParameterSelect {...props} name="seen" label={t("LastSeen")} options={optionsOf(SEEN_WORDS, t("atAnyTime"))} />
      </div>
      <ColumnsField {...props} hint={t("currentValueOfEachGetsColumn")} />
      <SubgroupsField {...props} />
      <MoreFields summary={t("SearchBattery")} hasValue={Boolean(form.q || form.batteryBelow)} error={fieldErrors(problem, ["parameters.q", "parameters.batteryBelow"])} refusal={problem}>
        <div className="report-choices">
          <ParameterText {...props} name="q" field="q" label={t("Search")} hint={t("AsInListOfDevicesName")} />
          <ParameterText {...props} name="batteryBelow" field="batteryBelow" label={t("BatteryBelow2")} inputMode="decimal" />
        </div>
      </MoreFields>
    </>
  );
}

function AlarmFields(props: Props) {
  return (
    <>
      <div className="report-choices">
        <ParameterSelect {...props} name="severity" label={t("Severity")} options={[["", "any"], ...SEVERITIES.map((each) => [each, each] as const)]} />
        <ParameterSelect {...props} name="reason" label={t("Reason")} options={optionsOf(ALARM_REASONS, "any")} />
        <ParameterSelect {...props} name="state" label={t("State")} options={optionsOf(STATE_WORDS, "any")} />
        <ChosenDevices {...props} max={1} />
      </div>
      <SubgroupsField {...props} />
    </>
  );
}

const FIELDS: Readonly<Record<Content, (props: Props) => ReactNode>> = { series: SeriesFields, records: RecordFields, devices: DeviceFields, alarms: AlarmFields };

function ContentCard(props: Props) {
  const { groupId, form, problem, onChange } = props;
  const rights = useRights(groupId);
  const Fields = FIELDS[form.content];
  const errors = otherErrors(problem, form.content);
  return (
    <Card title={t("Content")} className="form report-content">
      <fieldset className="reasons report-contents">
        <legend className="visually-hidden">{t("Content")}</legend>
        {CONTENTS.map(([content, label, hint, operation]) => {
          const isForbidden = rights.isKnown && !mayCall(rights, operation) && form.content !== content;
          return (
            <label key={content} className="reason">
              <input type="radio" name="content" checked={form.content === content} disabled={isForbidden} onChange={() => onChange({ content, others: "" })} />
              <span>
                {label}
                <span className="field-hint">{isForbidden ? t("YouMayNotReadThemHere") : hint}</span>
              </span>
            </label>
          );
        })}
      </fieldset>
      {fieldError(problem, "content") && <p className="field-error">{fieldError(problem, "content")}</p>}
      <Fields {...props} />
      {form.others && (
        <div className="field">
          <span className="field-label">{t("OtherParameters")}</span>
          <div className="report-others">
            <code>{form.others}</code>
            <Button onClick={() => onChange({ others: "" })}>{t("Remove")}</Button>
          </div>
          <p className="field-hint">{t("SetByAPIKeptAsThey")}</p>
        </div>
      )}
      {errors.map((each) => (
        <p key={each} className="field-error">
          {each}
        </p>
      ))}
    </Card>
  );
}

function ScheduleCard({ form, problem, onChange }: Props) {
  const zones = [...new Set(["UTC", form.timezone, ...Intl.supportedValuesOf("timeZone")])];
  const errors = ["every", "at", "timezone", "format"].flatMap((name) => fieldError(problem, name) ?? []);
  const common = (name: "every" | "at" | "timezone" | "format", label: string) => ({
    className: "input",
    "aria-label": label,
    "aria-invalid": fieldError(problem, name) ? (true as const) : undefined,
    value: form[name],
    onChange: (event: { target: { value: string } }) => onChange({ [name]: event.target.value }),
  });
  const select = (name: "every" | "timezone" | "format", label: string, options: Options) => (
    <select {...common(name, label)}>
      {options.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
  return (
    <Card title={t("When")} className="form">
      <div className={`sentence-box ${errors.length > 0 ? "field-wrong" : ""}`}>
        <div className="sentence" role="group" aria-label={t("When")}>
          <span className="sentence-part">
            <span>{form.every === "month" ? t("OnEvery") : t("Every")}</span>
            {select("every", t("Every"), EVERY)}
          </span>
          <span className="sentence-part">
            <span>{t("at")}</span>
            <input type="time" {...common("at", t("TimeOfDay"))} />
          </span>
          <span className="sentence-part">
            <span>{t("in")}</span>
            {select("timezone", t("TimeZone"), zones.map((each) => [each, each] as const))}
          </span>
          <span className="sentence-part">
            <span>{t("as")}</span>
            {select("format", t("Format"), FORMATS)}
          </span>
        </div>
        {errors.map((each) => (
          <p key={each} className="field-error">
            {each}
          </p>
        ))}
        <p className="field-hint">
          {form.at ? whenWords(form) : t("AtTimeOfDay")}, {aboutWords(form)}.
        </p>
      </div>
    </Card>
  );
}

function RecipientCard({ form, fields, noMail, problem, onChange }: Props) {
  const isMail = form.to === "email";
  const choice = (to: ReportForm["to"], label: string, hint: string, isDisabled: boolean) => (
    <label className="reason">
      <input type="radio" name="to" checked={form.to === to} disabled={isDisabled} onChange={() => onChange({ to })} />
      <span>
        {label}
        <span className="field-hint">{hint}</span>
      </span>
    </label>
  );
  return (
    <Card title={t("ToWhom")} className="form">
      <fieldset className="reasons">
        <legend className="visually-hidden">{t("SentBy")}</legend>
        {choice("email", "E-mail", noMail ?? t("EachAddressGetsItsOwnMail"), noMail !== undefined && !isMail)}
        {choice("webhook", t("Webhook"), t("fileInRequestToURLSigned"), false)}
      </fieldset>
      {fieldError(problem, "to.type") && <p className="field-error">{fieldError(problem, "to.type")}</p>}
      {isMail ? (
        <TextArea
          label={t("Addresses")}
          hint={t("SeparatedByCommasOrLines50")}
          rows={2}
          value={form.addresses}
          error={addressErrors(problem, form.addresses)}
          onChange={(event) => onChange({ addresses: event.target.value })}
        />
      ) : (
        <TypeFields fields={fields} isShown={(each) => each.isRequired} values={form.values} problem={problemOfWebhook(problem)} onChange={(path, value) => onChange({ values: { ...form.values, [path]: value } })} />
      )}
    </Card>
  );
}

export function ReportFields(props: Props) {
  const { form, problem, onChange } = props;
  return (
    <>
      <ContentCard {...props} />
      <div className="column">
        <Card title={t("Name")} className="form">
          <TextField label={t("Name")} hint={t("ItIsSubjectOfMail")} error={fieldError(problem, "name")} value={form.name} onChange={(event) => onChange({ name: event.target.value })} />
        </Card>
        <ScheduleCard {...props} />
      </div>
      <RecipientCard {...props} />
    </>
  );
}
