import { useId, useState, type ReactNode } from "react";
import { UNITS, joinSeconds, splitSeconds } from "~/seconds";
import { t } from "~/messages/ui";

// A number and its unit, in a line of text. Empty is no time at all.
export function Duration({ label, text, placeholder = "0", error, onChange }: { label: string; text: string; placeholder?: string; error?: string | undefined; onChange: (text: string) => void }) {
  const split = splitSeconds(text);
  const [typed, setTyped] = useState({ text, unit: split.unit });
  // What was typed keeps its unit: 90 minutes are not turned into 1.5 hours while they are typed.
  const unit = text === "" || text === typed.text ? typed.unit : split.unit;
  const change = (next: string, nextUnit: string) => {
    setTyped({ text: next, unit: nextUnit });
    if (next !== text) onChange(next);
  };
  const count = text === "" ? "" : Number.isFinite(Number(text)) ? String(Number((Number(text) / Number(unit)).toPrecision(6))) : text;
  return (
    <span className="amount">
      <input className="input amount-number" inputMode="decimal" aria-label={label} aria-invalid={error ? true : undefined} placeholder={placeholder} value={count} onChange={(event) => change(joinSeconds(event.target.value, unit), unit)} />
      <select
        className="input amount-unit"
        aria-label={t("labelUnit", { label })}
        value={unit}
        onChange={(event) => change(text === "" ? "" : joinSeconds(count, event.target.value), event.target.value)}
      >
        {UNITS.map(([size, word]) => (
          <option key={size} value={size}>
            {word}
          </option>
        ))}
      </select>
    </span>
  );
}

// The same as a field of its own.
export function DurationField({ label, hint, ...rest }: { label: string; hint?: ReactNode; text: string; placeholder?: string; error: string | undefined; onChange: (text: string) => void }) {
  const id = useId();
  return (
    <div className={`field ${rest.error ? "field-wrong" : ""}`} role="group" aria-labelledby={id}>
      <span className="field-label" id={id}>
        {label}
      </span>
      <Duration label={label} {...rest} />
      {rest.error && <p className="field-error">{rest.error}</p>}
      {hint && <p className="field-hint">{hint}</p>}
    </div>
  );
}
