// What a device measures now, before anything else: each value with its age and its last day.
import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { momentOf } from "~/time";
import { Button } from "~/ui/button";
import { Card } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { Sparkline, ValueLine } from "~/ui/sparkline";
import { ErrorState } from "~/ui/state";
import { TimeText, useNow } from "~/ui/time-text";
import type { Device } from "./queries";
import { deviceValuesQuery, measurementLabel, valueDayQuery, valueText, type DeviceValue } from "./values";

const SHOWN_FIRST = 8;
const LONG_TEXT = 7;
const DAY_MS = 86_400_000;

function ValueDay({ deviceId, item }: { deviceId: string; item: DeviceValue }) {
  const day = useQuery(valueDayQuery(deviceId, item));
  const label = `${measurementLabel(item)} in the last day`;
  if (!day.data || day.data.points.length === 0) return <div className="now-day" />;
  const { begin, end, points } = day.data;
  if (item.class === "gauge") return <ValueLine label={label} begin={begin} end={end} points={points} stepMs={DAY_MS / 48} />;
  const hours = Array.from({ length: 24 }, (_, hour) => {
    const from = begin + (hour * DAY_MS) / 24;
    const within = points.filter(({ at }) => at >= from && at < from + DAY_MS / 24);
    return within.length === 0 ? null : { ok: Math.max(0, within.reduce((sum, each) => sum + each.value, 0)), failed: 0 };
  });
  return <Sparkline label={label} points={hours} height={28} />;
}

function Value({ deviceId, item }: { deviceId: string; item: DeviceValue }) {
  const now = useNow();
  const moment = momentOf(item.timestamp);
  const text = valueText(item.value, item.decimals);
  const look = [typeof item.value === "number" && "now-numeric", text.length > LONG_TEXT && "now-long", item.isStale && "ink-2"];
  return (
    <li className="now-value">
      <div className="now-name" title={item.label ? item.name : undefined}>
        {item.class === "state" ? (
          measurementLabel(item)
        ) : (
          <Link to="/d/$deviceId" params={{ deviceId }} search={({ from, to, tz }) => ({ from, to, tz, tab: "chart", measurement: [item.name] })}>
            {measurementLabel(item)}
          </Link>
        )}
      </div>
      <div className="now-figure">
        <span className={["now-number", ...look].filter(Boolean).join(" ")}>{text}</span>
        {item.unit && item.value !== undefined && <span className="ink-2"> {item.unit}</span>}
      </div>
      {item.class !== "state" && <ValueDay deviceId={deviceId} item={item} />}
      <div className="now-age">
        {item.isStale && (
          <Pill tone="warn" title="The device should have reported since.">
            stale
          </Pill>
        )}
        {moment === null ? (
          <span className="ink-2">no valid value yet</span>
        ) : (
          <TimeText at={moment} withAgo precision={now - moment < DAY_MS / 2 ? "clock" : "minute"} />
        )}
        {item.invalid ? <span className="ink-2">{item.invalid.toLocaleString("en")} invalid</span> : null}
      </div>
    </li>
  );
}

// Nothing where a device has no values: many only report events or positions.
export function NowCard({ device }: { device: Device }) {
  const query = useQuery(deviceValuesQuery(device.deviceId));
  const [isAll, setAll] = useState(false);
  if (query.isError && !query.data)
    return (
      <Card title="Now">
        <ErrorState error={query.error} onRetry={() => void query.refetch()} operation="GET /device/values" groupId={device.groupId} />
      </Card>
    );
  const items = query.data ?? [];
  if (items.length === 0) return null;
  const shown = isAll ? items : items.slice(0, SHOWN_FIRST);
  return (
    <section className="now" aria-labelledby="now">
      <h2 id="now">Now</h2>
      <ul className="now-values">
        {shown.map((each) => (
          <Value key={each.name} deviceId={device.deviceId} item={each} />
        ))}
      </ul>
      {items.length > SHOWN_FIRST && (
        <Button look="quiet" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? `Only the first ${SHOWN_FIRST}` : `Show all ${items.length}`}
        </Button>
      )}
    </section>
  );
}
