// Deliveries over time in a row of a list: grey, and red where some failed. `null` is not known.
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
