// The fields of a notification: used to edit one and to create one.
import type { ApiProblem } from "~/api/client";
import { Checkbox, Select, TextArea, TextField, fieldError } from "~/ui/field";
import { DevicesField } from "~/pages/devices/device-picker";
import { paramsOf, type FormField } from "~/pages/connectors/schema-form";
import { TypeFields } from "~/pages/connectors/schema-fields";
import { ContactPointsField } from "~/pages/contacts/contact-picker";
import { useContactPoints } from "~/pages/contacts/queries";
import { DurationField } from "~/ui/duration";
import { Card } from "~/ui/page";
import { AreaField } from "./area-field";
import { Backtest } from "./backtest";
import { AlarmMore, ConditionExpressions, ConditionSentence, SeverityField } from "./condition-fields";
import { THRESHOLDS, contactPointsOf, ownFields, type NotificationForm } from "./form";
import { ALERTS, DAYS, hasAlarms, isAlert, parseSchedule, recipientWords, scheduleWords, usesArea } from "./words";
import { WeekPicker } from "./week-picker";
import { t } from "~/messages/notifications";

interface Props {
  groupId: string;
  // How it is sent.
  type: string;
  // Undefined while it is created.
  notificationId?: string | undefined;
  form: NotificationForm;
  fields: readonly FormField[];
  problem: ApiProblem | null;
  onChange: (change: Partial<NotificationForm>) => void;
}

const THRESHOLD_LABELS = {
  batteryBelow: ["Below (%)", "20"],
  failingAfter: [t("FailuresInRow"), "5"],
} as const;

function Reason({ groupId, type, notificationId, form, fields, problem, onChange }: Props) {
  const isMeasured = form.reason === "measurement";
  const { nameOf } = useContactPoints(groupId);
  const isNamed = type === "push" || form.contactPoints !== "" || Object.values(form.values).some(Boolean);
  const recipients = isNamed ? recipientWords(type, { ...paramsOf(ownFields(fields), form.values), contactPoints: contactPointsOf(form) }, nameOf) : "";
  const isOwn = form.reason !== "" && !isAlert(form.reason);
  const choice = (value: string, label: string, hint: string, isChosen: boolean) => (
    <label key={value} className="reason">
      <input type="radio" name="reason" checked={isChosen} onChange={() => onChange({ reason: value })} />
      <span>
        {label}
        <span className="field-hint">{hint}</span>
      </span>
    </label>
  );
  const threshold = THRESHOLDS[form.reason];
  return (
    <Card title={t("FiresWhen")} className="form fires-when">
      <fieldset className="reasons">
        <legend className="visually-hidden">{t("FiresWhen")}</legend>
        {ALERTS.map(({ reason, label, hint }) => choice(reason, label, hint, form.reason === reason))}
        {choice("", t("AnyEvent"), t("ForEveryEventThatDeviceSends"), form.reason === "")}
        {choice("status", t("CustomEvent"), t("ForEventsOfThatTypeAnd"), isOwn)}
      </fieldset>
      {fieldError(problem, "reason") && <p className="field-error">{fieldError(problem, "reason")}</p>}
      {isOwn && <TextField label={t("Reason")} error={fieldError(problem, "reason")} value={form.reason} onChange={(event) => onChange({ reason: event.target.value || "status" })} />}
      {threshold === "silentAfter" && (
        <DurationField label={t("SilentFor")} hint={t("Empty1Day")} placeholder="" error={fieldError(problem, "params.silentAfter")} text={form.silentAfter} onChange={(silentAfter) => onChange({ silentAfter })} />
      )}
      {threshold && threshold !== "silentAfter" && (
        <TextField
          label={THRESHOLD_LABELS[threshold][0]}
          placeholder={THRESHOLD_LABELS[threshold][1]}
          inputMode="numeric"
          error={fieldError(problem, `params.${threshold}`)}
          value={form[threshold]}
          onChange={(event) => onChange({ [threshold]: event.target.value })}
        />
      )}
      {usesArea(form.reason) && <AreaField groupId={groupId} text={form.geofence} error={fieldError(problem, "params.geofence")} onChange={(geofence) => onChange({ geofence })} />}
      {isMeasured && form.mode === "limit" && <ConditionSentence groupId={groupId} form={form} problem={problem} recipients={recipients} onChange={onChange} />}
      {isMeasured && form.mode === "expression" && <ConditionExpressions form={form} problem={problem} onChange={onChange} />}
      {isMeasured && <Backtest groupId={groupId} form={form} onChange={onChange} />}
      {hasAlarms(form.reason) && !(isMeasured && form.mode === "limit") && <SeverityField form={form} problem={problem} onChange={onChange} />}
      {hasAlarms(form.reason) && <AlarmMore groupId={groupId} form={form} problem={problem} isMeasured={isMeasured} notificationId={notificationId} onChange={onChange} />}
      {!isMeasured && <TextField label={t("OnlyIf")} hint={t("CELOverMessageEmptyForAlways")} error={fieldError(problem, "params.when")} value={form.when} onChange={(event) => onChange({ when: event.target.value })} />}
    </Card>
  );
}

function ScheduleFields({ form, problem, onChange }: Props) {
  const zones = Intl.supportedValuesOf("timeZone");
  const time = (text: string) => (text ? { Hours: Number(text.split(":")[0]), Minutes: Number(text.split(":")[1]) } : undefined);
  const schedule = form.day ? JSON.stringify({ Day: Number(form.day), From: time(form.from), To: time(form.to) }) : "";
  return (
    <Card title={t("WhenItMayBeSent")} className="form">
      <WeekPicker schedule={schedule} onDraw={onChange} />
      <p className="field-hint">{t("scheduleWordsDragOnDayToDraw", { scheduleWords: scheduleWords(parseSchedule(schedule), form.timezone) })}</p>
      <div className="schedule">
        <Select label={t("Day")} error={fieldError(problem, "schedule")} options={[["", t("Always")], ...DAYS.map((day, index) => [String(index + 1), day] as const)]} value={form.day} onChange={(event) => onChange({ day: event.target.value })} />
        {form.day && (
          <>
            <TextField label={t("From")} type="time" value={form.from} onChange={(event) => onChange({ from: event.target.value })} />
            <TextField label={t("To")} type="time" value={form.to} onChange={(event) => onChange({ to: event.target.value })} />
          </>
        )}
        <Select
          label={t("TimeZone")}
          error={fieldError(problem, "params.timezone")}
          options={[...new Set(["UTC", form.timezone, ...zones])].map((each) => [each, each] as const)}
          value={form.timezone}
          onChange={(event) => onChange({ timezone: event.target.value })}
        />
      </div>
      <DurationField label={t("Throttle")} hint={t("AtMostOnePerDeviceIn")} placeholder="" error={fieldError(problem, "params.throttle")} text={form.throttle} onChange={(throttle) => onChange({ throttle })} />
    </Card>
  );
}

export function NotificationFields(props: Props) {
  const { groupId, type, form, fields, problem, onChange } = props;
  const own = ownFields(fields);
  const isContactsOnly = type === "contactPoints";
  return (
    <>
      <Reason {...props} />
      <div className="column">
        <Card title={t("Name")} className="form">
          <TextField label={t("Name")} error={fieldError(problem, "name")} value={form.name} onChange={(event) => onChange({ name: event.target.value })} />
        </Card>
        <Card title={t("ToWhom")} className="form">
          {fieldError(problem, "type") && <p className="field-error">{fieldError(problem, "type")}</p>}
          {type === "push" && <p className="ink-2">{t("ToEveryMemberOfGroupWho")}</p>}
          <TypeFields
            fields={own}
            isShown={(each) => each.isRequired}
            values={form.values}
            problem={problem}
            onChange={(path, value) => onChange({ values: { ...form.values, [path]: value } })}
          />
          <ContactPointsField
            groupId={groupId}
            label={isContactsOnly ? t("ContactPointsRequired") : t("ContactPoints")}
            hint={isContactsOnly ? t("ItIsSentToEachOf") : t("ItIsSentToThemAs")}
            error={fieldError(problem, "params.contactPoints")}
            ids={contactPointsOf(form)}
            onChange={(ids) => onChange({ contactPoints: ids.join(",") })}
          />
        </Card>
        <Card title={t("ForWhichDevices")} className="form">
          <Checkbox label={t("DevicesOfGroupsBelowAsWell")} checked={form.subgroups === "true"} onChange={(event) => onChange({ subgroups: event.target.checked ? "true" : "" })} />
          {fieldError(problem, "params.subgroups") && <p className="field-error">{fieldError(problem, "params.subgroups")}</p>}
          <TextField label={t("DeviceTypes")} hint={t("SeparatedByCommasEmptyForAll")} error={fieldError(problem, "deviceTypes")} value={form.deviceTypes} onChange={(event) => onChange({ deviceTypes: event.target.value })} />
          <DevicesField groupId={groupId} label={t("Device")} hint={t("NoneChosenForAll")} error={fieldError(problem, "deviceId")} ids={form.deviceId ? [form.deviceId] : []} max={1} onChange={([deviceId = ""]) => onChange({ deviceId })} />
        </Card>
      </div>
      <div className="column">
        <ScheduleFields {...props} />
        <Card title={t("Text")} note={t("emptyForDefaultText")} className="form">
          <TextField label={t("Subject")} placeholder={t("messageDeviceNameIsTooWarm")} error={fieldError(problem, "params.subject")} value={form.subject} onChange={(event) => onChange({ subject: event.target.value })} />
          <TextArea label={t("Body")} hint={t("isExpressionItIsCheckedWhen")} rows={3} error={fieldError(problem, "params.body")} value={form.body} onChange={(event) => onChange({ body: event.target.value })} />
        </Card>
      </div>
    </>
  );
}
