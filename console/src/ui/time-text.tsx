import { useSyncExternalStore } from "react";
import { ago, formatTime, momentOf, zoneLabel, type Precision } from "~/time";
import { useZone } from "~/frame/page-state";
import { t } from "~/messages/ui";

const TICK_MS = 15_000;

// One timer for all relative times of the page, while there are any.
let ticks = 0;
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    ticks += 1;
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

// The moment of this render, which is repeated with every tick: what happened since the last tick
// is never "in 2 s".
export function useNow(): number {
  useSyncExternalStore(subscribe, () => ticks);
  return Date.now();
}

export function TimeText({
  at,
  precision = "second",
  withAgo = false,
  none = "–",
}: {
  at: string | number | null | undefined;
  // `recent`: the time alone if it is of today, else with its date.
  precision?: Precision | "recent";
  withAgo?: boolean;
  none?: string;
}) {
  const zone = useZone();
  const now = useNow();
  const moment = momentOf(at);
  if (moment === null) return <span className="ink-3">{none}</span>;
  const isToday = formatTime(moment, zone, "day") === formatTime(now, zone, "day");
  const shown = precision === "recent" ? (isToday ? "time" : "millisecond") : precision;
  const full = t("momentZoneMoment2UTC", { moment: formatTime(moment, zone, "millisecond"), zone: zoneLabel(zone), moment2: formatTime(moment, "UTC", "millisecond") });
  return (
    <time dateTime={new Date(moment).toISOString()} title={full} className="time">
      {withAgo && <span>{ago(moment, Math.max(now, Date.now()))} </span>}
      <span className={withAgo ? "ink-3" : undefined}>{formatTime(moment, zone, shown)}</span>
    </time>
  );
}
