// Measurements are chosen by name out of those that a group's devices have.
import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Checkbox } from "~/ui/field";
import { Popover } from "~/ui/menu";
import { byName, groupMeasurementsQuery, type NamedMeasurement } from "./group-measurements";
import { measurementLabel } from "./values";
import { t } from "~/messages/measurements";
import "./measurements.css";

const SEARCHED_FROM = 10;

function isFound(item: NamedMeasurement, text: string): boolean {
  return `${item.name} ${item.label ?? ""}`.toLowerCase().includes(text.trim().toLowerCase());
}

interface ChoiceProps {
  groupId: string;
  // Only what devices of a type measure.
  type?: string | undefined;
  label: string;
  chosen: readonly string[];
  max: number;
  onChange: (names: string[]) => void;
}

function Choices({ groupId, type, label, chosen, max, onChange }: ChoiceProps) {
  const [text, setText] = useState("");
  const query = useQuery(groupMeasurementsQuery(groupId));
  const items = byName((query.data ?? []).filter((each) => type === undefined || each.type === type));
  const found = items.filter((each) => isFound(each, text));
  const toggle = (name: string) => onChange(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name]);
  return (
    <div className="measurement-choice" role="group" aria-label={label}>
      {items.length >= SEARCHED_FROM && <input className="input" type="search" aria-label={t("FindMeasurement")} placeholder={t("Name")} value={text} onChange={(event) => setText(event.target.value)} />}
      <div className="measurement-list">
        {found.map((each) => (
          <Checkbox
            key={each.name}
            label={
              <>
                {measurementLabel(each)}
                {each.unit && <span className="ink-3"> {each.unit}</span>}
              </>
            }
            checked={chosen.includes(each.name)}
            disabled={chosen.length >= max && !chosen.includes(each.name)}
            onChange={() => toggle(each.name)}
          />
        ))}
      </div>
      <p role="status" className="ink-2 measurement-note">
        {query.isError
          ? query.error.message
          : query.isPending
            ? t("Loading")
            : items.length === 0
              ? t("TheseDevicesHaveMeasuredNothingYet")
              : found.length === 0
                ? t("NoMeasurementMatches")
                : chosen.length >= max
                  ? t("maxAtMost", { max })
                  : ""}
      </p>
    </div>
  );
}

export function MeasurementsChoice(props: ChoiceProps) {
  const { label, chosen } = props;
  return (
    <Popover
      label={
        <>
          {label}
          {chosen.length > 0 && ` (${chosen.length})`} <span aria-hidden="true">⌄</span>
        </>
      }
    >
      <Choices {...props} />
    </Popover>
  );
}
