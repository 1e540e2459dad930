// A state over time: a band for each device, which changes where its state does.
import { useMemo, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { useRange, useZone } from "~/frame/page-state";
import { ago, duration, formatTime, momentOf, zoneLabel, type Span } from "~/time";
import { tickLabel, timeStep, timeTicks } from "~/ui/chart-data";
import { Card } from "~/ui/page";
import { Empty, ErrorState, Loading } from "~/ui/state";
import { askedRange, DownloadLink } from "./chart-card";
import { bandsOf, coloursOf, type StateRow } from "./states";
import { measurementLabel, valueText } from "./values";
import { t } from "~/messages/measurements";
import "./states.css";

const TICKS_MAX = 8;
const DEVICES_MAX = 20;

interface StateDevice {
  readonly id: string;
  readonly name: string;
}

function useStates(measurement: string, devices: readonly StateDevice[]) {
  const { range } = useRange();
  const deviceId = devices.map((each) => each.id).slice(0, DEVICES_MAX);
  return useQuery({
    queryKey: ["device-states", measurement, deviceId, range],
    queryFn: async ({ signal }) => {
      const { span, beginDate, endDate } = askedRange(range, null, "");
      const query = { deviceId, measurement: [measurement], beginDate, endDate };
      const answer = await read(api.GET("/device/series", { params: { query }, signal }));
      if (typeof answer !== "object" || Array.isArray(answer)) throw new Error("The service answered in another format.");
      // What is in the future has not happened.
      return { query, span: { begin: span.begin, end: Math.min(span.end, Math.max(Date.now(), span.begin + 1)) }, items: answer.items };
    },
    refetchInterval: 60_000,
  });
}

function Axis({ span, zone }: { span: Span; zone: string }) {
  const step = timeStep(span.end - span.begin, TICKS_MAX);
  return (
    <div className="bands-axis" aria-hidden="true">
      {timeTicks(span.begin, span.end, TICKS_MAX, zone).map((each) => (
        <span key={each} style={{ left: `${((each - span.begin) / (span.end - span.begin)) * 100}%` }}>
          {tickLabel(each, step, zone)}
        </span>
      ))}
    </div>
  );
}

export function Bands({ rows, span, zone, label }: { rows: readonly StateRow[]; span: Span; zone: string; label: string }) {
  const colours = useMemo(() => coloursOf(rows), [rows]);
  const length = span.end - span.begin;
  return (
    <>
      <div className="bands">
        {rows.map(({ id, name, bands }) => (
          <div key={id} className="bands-row">
            {rows.length > 1 && <span className="bands-name">{name}</span>}
            <div className="bands-track" role="img" aria-label={t("labelOfNameValueLastOne", { label, name, value: t("countStates", { count: bands.length }), text: bands[bands.length - 1]?.text ?? t("notKnown") })}>
              {bands.map((each) => (
                <span
                  key={each.begin}
                  className="band"
                  data-usual={colours.get(each.text) === undefined || undefined}
                  title={`${each.text}: ${formatTime(each.begin, zone)}, ${duration(each.end - each.begin)}`}
                  style={{ left: `${((each.begin - span.begin) / length) * 100}%`, width: `${((each.end - each.begin) / length) * 100}%`, color: `var(${colours.get(each.text) ?? "--line-strong"})` }}
                >
                  {(each.end - each.begin) / length > 0.08 && <span>{each.text}</span>}
                </span>
              ))}
            </div>
          </div>
        ))}
        <div className="bands-row" aria-hidden="true">
          {rows.length > 1 && <span className="bands-name" />}
          <Axis span={span} zone={zone} />
        </div>
      </div>
      <ul className="series-legend" aria-label={t("Legend")}>
        {[...colours].map(([text, colour]) => (
          <li key={text}>
            <span aria-hidden="true" className="series-swatch" style={{ color: `var(${colour ?? "--line-strong"})` }} />
            {text}
          </li>
        ))}
      </ul>
    </>
  );
}

function StateTable({ rows, zone, label }: { rows: readonly StateRow[]; zone: string; label: string }) {
  return (
    <div className="series-table state-table" tabIndex={0} role="region" aria-label={t("labelAsTable", { label })}>
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">{t("FromZone", { zone: zoneLabel(zone) })}</th>
            {rows.length > 1 && <th scope="col">{t("Device")}</th>}
            <th scope="col">{t("State")}</th>
            <th scope="col">{t("For")}</th>
          </tr>
        </thead>
        <tbody>
          {rows
            .flatMap(({ name, bands }) => bands.map((each) => ({ name, ...each })))
            .sort((a, b) => b.begin - a.begin)
            .map((each, index) => (
              <tr key={index}>
                <th scope="row" className="number">
                  {formatTime(each.begin, zone)}
                </th>
                {rows.length > 1 && <td>{each.name}</td>}
                <td>{each.text}</td>
                <td className="number">{ago(0, each.end - each.begin).replace(" ago", "")}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}

export function StateHistory({ groupId, item, devices }: { groupId: string; item: { readonly name: string; readonly label?: string | undefined }; devices: readonly StateDevice[] }) {
  const zone = useZone();
  const query = useStates(item.name, devices);
  const [isTable, setTable] = useState(false);
  const label = measurementLabel(item);
  const found = query.data;
  const rows = useMemo(
    () => (found ? devices.slice(0, DEVICES_MAX).map(({ id, name }) => ({ id, name, bands: bandsOf(found.items.find((each) => each.deviceId === id)?.states ?? [], found.span.end, valueText) })) : []),
    [found, devices],
  );
  const withStates = rows.filter((each) => each.bands.length > 0);
  const until = found?.items.map((each) => momentOf(each.examinedUntil)).filter((each) => each !== null) ?? [];
  return (
    <Card
      title={label}
      note={
        <>
          {until.length > 0 && `${t("readUntilFormatTimeChooseShorterRange", { formatTime: formatTime(Math.min(...until), zone, "minute") })} `}
          {found && <DownloadLink title={label} path="/device/series" query={found.query} />}
        </>
      }
    >
      {query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} operation="GET /device/series" groupId={groupId} />
      ) : !found ? (
        <Loading rows={2} />
      ) : withStates.length === 0 ? (
        <Empty text={t("NoStateWasReportedInThis")} />
      ) : (
        <figure className="series">
          {isTable ? <StateTable rows={withStates} zone={zone} label={label} /> : <Bands rows={withStates} span={found.span} zone={zone} label={label} />}
          <figcaption className="series-foot">
            <span className="ink-2">
              {t("stateHoldsUntilNextOne")}
              {rows.length > withStates.length && t("valueWithoutAnyInThisRange", { value: rows.length - withStates.length })}
            </span>
            <button type="button" className="link series-switch" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
              {isTable ? t("AsBands") : t("AsTable")}
            </button>
          </figcaption>
        </figure>
      )}
    </Card>
  );
}
