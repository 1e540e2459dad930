// Small drawings in a row of a list: counts as bars, grey, and red where some failed, `null` is not
// known; or values as a line with gaps.
import { splitAtGaps, usualStep } from "./chart-data";
import "./series.css";

export interface SparkPoint {
  readonly ok: number;
  readonly failed: number;
}

const GAP = 1;
const LEAST = 1.5;

export function Sparkline({
  points,
  label,
  width = 96,
  height = 24,
}: {
  points: readonly (SparkPoint | null)[];
  // Read instead of the drawing: "Deliveries in 24 h: 812, 3 failed".
  label: string;
  width?: number;
  height?: number;
}) {
  const most = Math.max(1, ...points.map((each) => (each ? each.ok + each.failed : 0)));
  const step = width / Math.max(1, points.length);
  const tall = (value: number) => (value === 0 ? 0 : Math.max(LEAST, (value / most) * height));
  return (
    <svg className="sparkline" role="img" aria-label={label} width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
      {points.map((each, index) => {
        const x = index * step;
        const wide = Math.max(0.5, step - GAP);
        if (each === null) return null;
        if (each.ok + each.failed === 0) return <rect key={index} className="sparkline-none" x={x} y={height - 1} width={wide} height={1} />;
        const failed = tall(each.failed);
        const ok = Math.min(height - failed, tall(each.ok));
        return (
          <g key={index}>
            <rect className="sparkline-ok" x={x} y={height - ok} width={wide} height={ok} />
            {failed > 0 && <rect className="sparkline-failed" x={x} y={height - ok - failed} width={wide} height={failed} />}
          </g>
        );
      })}
    </svg>
  );
}

const INSET = 2;
const GAP_STEPS = 1.5;

interface LinePoint {
  readonly at: number;
  readonly value: number;
}

// A point without neighbours is a dot, and so is the newest one.
export function ValueLine({
  points,
  begin,
  end,
  stepMs,
  label,
  width = 96,
  height = 28,
}: {
  points: readonly LinePoint[];
  begin: number;
  end: number;
  // How far points are apart at least.
  stepMs: number;
  label: string;
  width?: number;
  height?: number;
}) {
  const values = points.map((each) => each.value);
  const low = Math.min(...values);
  const range = Math.max(...values) - low;
  const x = (at: number) => INSET + ((at - begin) / (end - begin)) * (width - 2 * INSET);
  const y = (value: number) => (range === 0 ? height / 2 : height - INSET - ((value - low) / range) * (height - 2 * INSET));
  const place = ({ at, value }: LinePoint) => `${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
  const pieces = splitAtGaps(points, usualStep(points.map((each) => each.at), stepMs) * GAP_STEPS);
  const newest = points[points.length - 1];
  const dots = pieces.flatMap((piece) => (piece.length === 1 ? piece : piece.filter((each) => each === newest)));
  return (
    <svg className="sparkline" role="img" aria-label={label} width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
      <path className="sparkline-line" d={pieces.map((piece) => `M${piece.map(place).join("L")}`).join("")} />
      {dots.map((each) => (
        <circle key={each.at} className="sparkline-dot" cx={x(each.at)} cy={y(each.value)} r={INSET} />
      ))}
    </svg>
  );
}
