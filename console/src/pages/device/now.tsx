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
import { deviceValuesQuery, measurementLabel, valueDaysQuery, valueText, type DeviceValue, type ValueDays } from "~/measurements/values";
import { t } from "~/messages/device";

const SHOWN_FIRST = 8;
// So many measurements one request may have.
const DAYS_MAX = 20;
// Characters of a value with its unit: in large type, in one line, and of a number that is not broken.
const LARGE_MAX = 8;
const LINE_MAX = 14;
const NUMBER_MAX = 18;
const DAY_MS = 86_400_000;

function ValueDay({ days, item }: { days: ValueDays | undefined; item: DeviceValue }) {
  const label = t("itemInLastDay", { item: measurementLabel(item) });
  const points = days?.points.get(item.name) ?? [];
  if (!days || points.length === 0) return <div className="now-day" />;
  const { begin, end } = days;
  if (item.class === "gauge") return <ValueLine label={label} begin={begin} end={end} points={points} stepMs={DAY_MS / 48} />;
  const hours = Array.from({ length: 24 }, (_, hour) => {
    const from = begin + (hour * DAY_MS) / 24;
    const within = points.filter(({ at }) => at >= from && at < from + DAY_MS / 24);
    return within.length === 0 ? null : { ok: Math.max(0, within.reduce((sum, each) => sum + each.value, 0)), failed: 0 };
  });
  return <Sparkline label={label} points={hours} height={28} />;
}

function Value({ deviceId, item, days }: { deviceId: string; item: DeviceValue; days: ValueDays | undefined }) {
  const now = useNow();
  const moment = momentOf(item.timestamp);
  const text = valueText(item.value, item.decimals);
  const unit = item.value === undefined ? undefined : item.unit;
  const length = text.length + (unit ? unit.length + 1 : 0);
  const isNumber = typeof item.value === "number";
  const look = [isNumber && text.length <= NUMBER_MAX && "now-numeric", length > LARGE_MAX && "now-long", item.isStale && "ink-2"];
  return (
    <li className="now-value">
      <div className="now-name" title={item.label ? item.name : undefined}>
        <Link to="/d/$deviceId" params={{ deviceId }} search={({ from, to, tz }) => ({ from, to, tz, tab: "chart", measurement: [item.name] })}>
          {measurementLabel(item)}
        </Link>
      </div>
      <div className={isNumber && length <= LINE_MAX ? "now-figure now-numeric" : "now-figure"}>
        <span className={["now-number", ...look].filter(Boolean).join(" ")}>{text}</span>
        {unit && <span className={length > LINE_MAX ? "now-unit-below ink-2" : "ink-2"}> {unit}</span>}
      </div>
      {item.class !== "state" && <ValueDay days={days} item={item} />}
      <div className="now-age">
        {item.isStale && (
          <Pill tone="warn" title={t("deviceShouldHaveReportedAgainBy")}>
            {t("stale")}
          </Pill>
        )}
        {moment === null ? (
          <span className="ink-2">{t("noValidValueYet")}</span>
        ) : (
          <TimeText at={moment} withAgo precision={now - moment < DAY_MS / 2 ? "clock" : "minute"} />
        )}
        {item.invalid ? <span className="ink-2">{t("invalidInvalid", { invalid: item.invalid })}</span> : null}
      </div>
    </li>
  );
}

// Nothing where a device has no values: many only report events or positions.
export function NowCard({ device }: { device: Device }) {
  const query = useQuery(deviceValuesQuery(device.deviceId));
  const [isAll, setAll] = useState(false);
  const items = query.data ?? [];
  const shown = isAll ? items : items.slice(0, SHOWN_FIRST);
  const days = useQuery(valueDaysQuery(device.deviceId, shown.filter((each) => each.class !== "state").slice(0, DAYS_MAX)));
  if (query.isError && !query.data)
    return (
      <Card title={t("Now")}>
        <ErrorState error={query.error} onRetry={() => void query.refetch()} operation="GET /device/values" groupId={device.groupId} />
      </Card>
    );
  if (items.length === 0) return null;
  return (
    <section className="now" aria-labelledby="now">
      <h2 id="now">{t("Now")}</h2>
      <ul className="now-values">
        {shown.map((each) => (
          <Value key={each.name} deviceId={device.deviceId} item={each} days={days.data} />
        ))}
      </ul>
      {items.length > SHOWN_FIRST && (
        <Button look="quiet" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? t("OnlyFirstSHOWNFIRST", { SHOWN_FIRST }) : t("ShowAllCount", { count: items.length })}
        </Button>
      )}
    </section>
  );
}
