import { useState, type FormEvent } from "react";
import { RANGE_PRESETS, parseMoment, rangeLabel, type TimeRange } from "~/time";
import { Button } from "~/ui/button";
import { TextField } from "~/ui/field";
import { Popover } from "~/ui/menu";
import { useRange, useZone } from "./page-state";
import { t } from "~/messages/frame";

function OwnRange({ range, onChoose }: { range: TimeRange; onChoose: (range: TimeRange) => void }) {
  const [from, setFrom] = useState(range.from);
  const [to, setTo] = useState(range.to);
  const [error, setError] = useState<string | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const now = Date.now();
    const begin = parseMoment(from, now);
    const end = parseMoment(to, now);
    if (begin === null || end === null) setError(t("WriteDateLike20261115T06"));
    else if (begin >= end) setError(t("beginMustBeBeforeEnd"));
    else onChoose({ from, to });
  };
  return (
    <form onSubmit={submit} className="form">
      <TextField label={t("From")} value={from} error={error ?? undefined} onChange={(event) => setFrom(event.target.value)} />
      <TextField label={t("To")} value={to} onChange={(event) => setTo(event.target.value)} />
      <Button type="submit">{t("Apply")}</Button>
    </form>
  );
}

export function RangePicker() {
  const { range, setRange } = useRange();
  const zone = useZone();
  return (
    <Popover label={<>{rangeLabel(range, zone)} <span aria-hidden="true">⌄</span></>} title={t("TimeRange")} className="range">
      {(close) => {
        const choose = (next: TimeRange) => {
          setRange(next);
          close();
        };
        return (
          <div className="range-box">
            <div role="group" aria-label={t("Presets")} className="menu">
              {RANGE_PRESETS.map((preset) => (
                <button
                  key={preset.from}
                  type="button"
                  className="menu-item"
                  aria-pressed={range.from === preset.from && range.to === "now"}
                  onClick={() => choose({ from: preset.from, to: "now" })}
                >
                  {preset.label}
                </button>
              ))}
            </div>
            <OwnRange key={`${range.from} ${range.to}`} range={range} onChoose={choose} />
          </div>
        );
      }}
    </Popover>
  );
}
