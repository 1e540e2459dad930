import { useRange } from "~/frame/page-state";
import { Button } from "~/ui/button";
import "./measurements.css";

const RANGES = [
  ["Day", "now-24h"],
  ["Week", "now-7d"],
  ["Month", "now-30d"],
  ["Year", "now-365d"],
] as const;

export function RangeButtons() {
  const { range, setRange } = useRange();
  return (
    <div className="chart-ranges" role="group" aria-label="Range">
      {RANGES.map(([label, from]) => (
        <Button key={from} aria-pressed={range.to === "now" && range.from === from} onClick={() => setRange({ from, to: "now" })}>
          {label}
        </Button>
      ))}
    </div>
  );
}
