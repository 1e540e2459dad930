// Who is on call on which days, and at what time.
import type { ApiProblem } from "~/api/client";
import { DAYS } from "~/pages/notifications/words";
import { Button } from "~/ui/button";
import { Select, TextField, fieldError } from "~/ui/field";
import { nameOr } from "~/ui/name";
import { Card } from "~/ui/page";
import { ALL_DAYS, ROTA, newShift, shiftsOf, type ContactPointForm, type Shift } from "./form";
import { useContactPoints } from "./queries";
import { shiftWords } from "./words";
import { t } from "~/messages/contacts";

const SHIFTS_MAX = 100;

interface Props {
  groupId: string;
  form: ContactPointForm;
  problem: ApiProblem | null;
  onChange: (change: Partial<ContactPointForm>) => void;
}

type Options = readonly (readonly [string, string])[];

// With what is chosen, also where it cannot be seen any more.
function withChosen(options: Options, chosen: string): Options {
  return [["", t("ChooseOne")], ...options, ...(chosen && !options.some(([id]) => id === chosen) ? [[chosen, chosen] as const] : [])];
}

function Days({ shift, error, onChange }: { shift: Shift; error: string | undefined; onChange: (days: readonly number[]) => void }) {
  return (
    <fieldset className={`shift-days ${error ? "field-wrong" : ""}`}>
      <legend className="field-label">{t("BeginsOn")}</legend>
      {ALL_DAYS.map((day) => {
        const isOn = shift.days.includes(day);
        const name = DAYS[day - 1] ?? "";
        return (
          <label key={day} title={name}>
            <input type="checkbox" aria-label={name} checked={isOn} onChange={() => onChange(ALL_DAYS.filter((each) => (each === day ? !isOn : shift.days.includes(each))))} />
            <span aria-hidden="true">{name.slice(0, 3)}</span>
          </label>
        );
      })}
      {error && <p className="field-error">{error}</p>}
    </fieldset>
  );
}

function ShiftFields({ index, shift, options, problem, onChange, onRemove }: {
  index: number;
  shift: Shift;
  options: Options;
  problem: ApiProblem | null;
  onChange: (change: Partial<Shift>) => void;
  onRemove: () => void;
}) {
  const errorOf = (name: string) => fieldError(problem, t("paramsShiftsIndexName", { index, name }));
  return (
    <div className="shift" role="group" aria-label={t("ShiftValue", { value: index + 1 })}>
      <Select label={t("ContactPoint")} options={withChosen(options, shift.contactPoint)} value={shift.contactPoint} error={errorOf("contactPoint")} onChange={(event) => onChange({ contactPoint: event.target.value })} />
      <Days shift={shift} error={errorOf("days")} onChange={(days) => onChange({ days })} />
      <TextField label={t("From")} type="time" value={shift.from} error={errorOf("from")} onChange={(event) => onChange({ from: event.target.value })} />
      <TextField label={t("To")} type="time" value={shift.to} error={errorOf("to")} onChange={(event) => onChange({ to: event.target.value })} />
      <p className="shift-words field-hint">
        <span>{shiftWords(shift)}</span>
        <Button look="quiet" aria-label={t("RemoveShiftValue", { value: index + 1 })} onClick={onRemove}>
          {t("Remove")}
        </Button>
      </p>
    </div>
  );
}

export function RotaFields({ groupId, form, problem, onChange }: Props) {
  const { all } = useContactPoints(groupId);
  const options = all.filter((each) => each.type !== ROTA).map((each) => [each.id, nameOr(each.name, each.id)] as const);
  const shifts = shiftsOf(form);
  const set = (next: readonly Shift[]) => onChange({ shifts: JSON.stringify(next) });
  const zones = Intl.supportedValuesOf("timeZone");
  const only = problem?.fields.find((each) => each.field === "params.shifts")?.message;
  return (
    <Card title={t("Shifts")} note={t("severalMayBeOnCallAt")} className="form shifts">
      {options.length === 0 && <p className="ink-2">{t("rotaStandsForOtherContactPoints")}</p>}
      {shifts.map((shift, index) => (
        <ShiftFields
          key={index}
          index={index}
          shift={shift}
          options={options}
          problem={problem}
          onChange={(change) => set(shifts.map((each, at) => (at === index ? { ...each, ...change } : each)))}
          onRemove={() => set(shifts.filter((_, at) => at !== index))}
        />
      ))}
      {only && <p className="field-error">{only}</p>}
      <div>
        <Button onClick={() => set([...shifts, newShift(shifts.length === 0 ? (options[0]?.[0] ?? "") : "")])} disabledReason={shifts.length < SHIFTS_MAX ? undefined : t("SHIFTSMAXAtMost", { SHIFTS_MAX })}>
          {t("AddShift")}
        </Button>
      </div>
      <div className="rota-rest">
        <Select
          label={t("WhileNobodyIsOnCall")}
          hint={t("SoThatEveryAlertReachesSomebody")}
          options={withChosen(options, form.fallback)}
          value={form.fallback}
          error={fieldError(problem, "params.fallback")}
          onChange={(event) => onChange({ fallback: event.target.value })}
        />
        <Select
          label={t("TimeZone")}
          hint={t("timeZoneOfShifts")}
          options={[...new Set(["UTC", form.timezone, ...zones])].map((each) => [each, each] as const)}
          value={form.timezone}
          error={fieldError(problem, "params.timezone")}
          onChange={(event) => onChange({ timezone: event.target.value })}
        />
      </div>
    </Card>
  );
}
