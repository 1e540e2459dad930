import { WEEK_MINUTES, parseSchedule, scheduleWords, weekSpans } from "./words";

const HOUR = 60;
const HEIGHT = 10;

// A week from Monday to Sunday, with the time in which it may be sent.
export function WeekBar({ schedule, zone }: { schedule: string | null | undefined; zone: string }) {
  const parsed = parseSchedule(schedule);
  const words = scheduleWords(parsed, zone);
  const spans = parsed ? weekSpans(parsed) : [[0, WEEK_MINUTES] as const];
  return (
    <span className="week" title={words}>
      <svg viewBox={`0 0 ${WEEK_MINUTES / HOUR} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={words}>
        <rect className="week-ground" width={WEEK_MINUTES / HOUR} height={HEIGHT} />
        {spans.map(([from, to]) => (
          <rect key={from} className={parsed ? "week-span" : "week-always"} x={from / HOUR} width={(to - from) / HOUR} height={HEIGHT} />
        ))}
        {[1, 2, 3, 4, 5, 6].map((day) => (
          <rect key={day} className="week-day" x={day * 24 - 0.5} width={1} height={HEIGHT} />
        ))}
      </svg>
    </span>
  );
}
