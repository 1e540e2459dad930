import { useRange } from "~/frame/page-state";
import { Button } from "~/ui/button";
import { t } from "~/messages/measurements";
import "./measurements.css";

const RANGES = [
  [t("Day"), "now-24h"],
  [t("Week"), "now-7d"],
  [t("Month"), "now-30d"],
  [t("Year"), "now-365d"],
] as const;

export function RangeButtons() {
  const { range, setRange } = useRange();
  return (
    <div className="chart-ranges" role="group" aria-label={t("Range")}>
      {RANGES.map(([label, from]) => (
        <Button key={from} aria-pressed={range.to === "now" && range.from === from} onClick={() => setRange({ from, to: "now" })}>
          {label}
        </Button>
      ))}
    </div>
  );
}
