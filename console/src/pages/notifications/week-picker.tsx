// A week by days and hours, to draw on: press on a day and drag to when it ends. The fields beside it
// say the same for those who type.
import { useRef, useState, type PointerEvent } from "react";
import { DAYS, DAY_MINUTES, drawnSpan, parseSchedule, weekSpans } from "./words";

interface Drawn {
  readonly day: string;
  readonly from: string;
  readonly to: string;
}

interface Press {
  readonly day: number;
  readonly start: number;
  readonly at: number;
}

const HOURS = [0, 6, 12, 18, 24];

export function WeekPicker({ schedule, onDraw }: { schedule: string; onDraw: (drawn: Drawn) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const [press, setPress] = useState<Press | null>(null);
  const parsed = parseSchedule(schedule);
  const drawing = press && drawnSpan(press.start, press.at);
  const spans: (readonly [number, number])[] = press && drawing
    ? [[press.day * DAY_MINUTES + drawing.from, press.day * DAY_MINUTES + drawing.to]]
    : parsed ? weekSpans(parsed) : DAYS.map((_, day) => [day * DAY_MINUTES, (day + 1) * DAY_MINUTES]);
  const placeOf = (event: PointerEvent) => {
    const { left, top, width, height } = (box.current as HTMLDivElement).getBoundingClientRect();
    const share = (value: number) => Math.max(0, Math.min(1, value));
    return {
      minutes: share((event.clientX - left) / width) * DAY_MINUTES,
      day: Math.min(DAYS.length - 1, Math.floor(share((event.clientY - top) / height) * DAYS.length)),
    };
  };
  return (
    <div className="week-picker" aria-hidden="true">
      <div className="week-days">
        {DAYS.map((day) => (
          <span key={day}>{day.slice(0, 2)}</span>
        ))}
      </div>
      <div
        ref={box}
        className="week-ground-area"
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          const { day, minutes } = placeOf(event);
          setPress({ day, start: minutes, at: minutes });
        }}
        onPointerMove={(event) => press && setPress({ ...press, at: placeOf(event).minutes })}
        onPointerCancel={() => setPress(null)}
        onPointerUp={() => {
          if (press && drawing) onDraw({ day: String(press.day + 1), from: drawing.fromText, to: drawing.toText });
          setPress(null);
        }}
      >
        {DAYS.map((name, day) => (
          <div key={name} className="week-row">
            {spans.map(([from, to]) => {
              const begin = Math.max(from, day * DAY_MINUTES);
              const end = Math.min(to, (day + 1) * DAY_MINUTES);
              if (end <= begin) return null;
              const left = ((begin - day * DAY_MINUTES) / DAY_MINUTES) * 100;
              return <span key={from} className={parsed || press ? "week-drawn" : "week-drawn week-drawn-always"} style={{ left: `${left}%`, width: `${((end - begin) / DAY_MINUTES) * 100}%` }} />;
            })}
          </div>
        ))}
      </div>
      <div className="week-hours">
        {HOURS.map((hour) => (
          <span key={hour}>{String(hour).padStart(2, "0")}</span>
        ))}
      </div>
    </div>
  );
}
