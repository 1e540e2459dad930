// When the condition that is being written would have raised alarms in the last week, while one moves it.
import { useMemo, useState } from "react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { drawLines } from "~/measurements/drawing";
import { useDeviceNames } from "~/pages/devices/device-picker";
import { momentOf } from "~/time";
import { Select } from "~/ui/field";
import { Series, type SeriesBand } from "~/ui/series";
import { useSettled } from "~/ui/settled";
import { conditionParams, missingInCondition, movedLimit, numberOrText } from "./condition";
import { useFormMeasurements } from "./condition-fields";
import type { NotificationForm } from "./form";
import { sliderOf, timesWords } from "./words";
import { t } from "~/messages/notifications";

const PAUSE_MS = 300;
const WEEK_MS = 7 * 86_400_000;
const DEVICES_MAX = 20;
const EXAMINED_MAX = 200;
const BAND_NOUNS = [t("alarmThatWouldHaveBeenRaised"), t("alarmsThatWouldHaveBeenRaised")] as const;

// What decides when it is raised, and how often it is sent. To whom is not asked: it may not be filled in yet.
function draftOf(form: NotificationForm): string {
  const throttle = numberOrText(form.throttle);
  const params = { url: "https://example.com", ...conditionParams(form), ...(form.subgroups ? { subgroups: true } : {}), ...(form.throttle.trim() ? { throttle } : {}) };
  return JSON.stringify({
    type: "webhook",
    reason: "measurement",
    ...(form.deviceId ? { deviceId: form.deviceId } : {}),
    deviceTypes: form.deviceTypes.split(/[,\s]+/).filter(Boolean),
    params: JSON.stringify(params),
  });
}

interface Draft {
  type: string;
  reason: string;
  deviceId?: string;
  deviceTypes: string[];
  params: string;
}

function useBacktest(groupId: string, form: NotificationForm, week: { beginDate: string; endDate: string }) {
  const isWritten = missingInCondition(form) === undefined;
  const draft = useSettled(isWritten ? draftOf(form) : "", PAUSE_MS);
  return useQuery({
    queryKey: ["backtest", groupId, draft, week],
    // Another one cancels the request before it.
    queryFn: ({ signal }) => read(api.POST("/notification/backtest", { body: { groupId, notification: JSON.parse(draft) as Draft, ...week, limit: EXAMINED_MAX }, signal })),
    enabled: isWritten && draft !== "",
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: Infinity,
  });
}

// Devices that the condition may be about, those that have the measurement.
function useMeasuredDevices(groupId: string, form: NotificationForm): readonly string[] {
  const mayList = useMay(groupId, "GET /devices");
  const { measurement, deviceId } = form;
  const query = useQuery({
    queryKey: ["devices", "measured", groupId, form.subgroups, measurement],
    queryFn: ({ signal }) =>
      read(api.GET("/devices", { params: { query: { groupId, subgroups: form.subgroups !== "", where: [`${measurement}!=null`], limit: DEVICES_MAX } }, signal })),
    enabled: mayList && measurement !== "" && deviceId === "",
    staleTime: 60_000,
  });
  return deviceId ? [deviceId] : (query.data?.items ?? []).map((each) => each.deviceId);
}

export function Backtest({ groupId, form, onChange }: { groupId: string; form: NotificationForm; onChange: (change: Partial<NotificationForm>) => void }) {
  const mayTry = useMay(groupId, "POST /notification/backtest");
  const mayRead = useMay(groupId, "GET /device/series");
  const [now] = useState(Date.now);
  const span = useMemo(() => ({ begin: now - WEEK_MS, end: now }), [now]);
  const week = useMemo(() => ({ beginDate: new Date(span.begin).toISOString(), endDate: new Date(span.end).toISOString() }), [span]);
  const backtest = useBacktest(groupId, form, week);
  const measured = useMeasuredDevices(groupId, form);
  const [chosen, setChosen] = useState("");
  const items = backtest.data?.items ?? [];
  const ids = [...new Set([...measured, ...items.map((each) => each.deviceId)])].slice(0, DEVICES_MAX);
  const names = useDeviceNames(groupId, ids);
  const deviceId = ids.includes(chosen) ? chosen : (ids[0] ?? "");
  const { measurement } = form;
  const known = useFormMeasurements(groupId, form).find((each) => each.name === measurement);
  const isLimit = form.mode === "limit";
  const series = useQuery({
    queryKey: ["backtest-series", deviceId, measurement, week],
    queryFn: ({ signal }) => read(api.GET("/device/series", { params: { query: { deviceId: [deviceId], measurement: [measurement], ...week } }, signal })),
    enabled: mayRead && isLimit && deviceId !== "" && measurement !== "",
    staleTime: Infinity,
  });
  const drawing = useMemo(() => {
    const answer = typeof series.data === "object" && !Array.isArray(series.data) ? series.data : undefined;
    const points = (answer?.items[0]?.points ?? []).map((each) => ({ at: momentOf(each.timestamp) ?? 0, value: each.mean, low: each.min, high: each.max }));
    return { points, lines: drawLines([{ id: deviceId, name: names[ids.indexOf(deviceId)] ?? deviceId, points }], (answer?.timeSpan ?? 0) * 1_000) };
  }, [series.data, deviceId, names.join(" ")]);
  const bands = useMemo(() => {
    const alarms = items.find((each) => each.deviceId === deviceId)?.alarms ?? [];
    const tone: SeriesBand["tone"] = form.severity === "critical" ? "bad" : form.severity === "info" ? "idle" : "warn";
    return { nouns: BAND_NOUNS, items: alarms.map((each) => ({ begin: momentOf(each.raisedAt) ?? 0, end: momentOf(each.resolvedAt), label: t("wouldHaveBeenRaised"), tone })) };
  }, [backtest.data, deviceId, form.severity]);
  const limit = numberOrText(form.limit);
  const again = numberOrText(form.again);
  const limits = useMemo(() => [limit, again].filter((each) => typeof each === "number"), [limit, again]);
  if (!mayTry || !mayRead) return null;
  const slider = sliderOf(drawing.points.flatMap((each) => [each.low, each.high]), typeof limit === "number" ? limit : undefined);
  return (
    <section className="backtest" aria-label={t("InLastWeek")}>
      <p role="status" className="backtest-words">
        {backtest.isError ? <span className="ink-2">{backtest.error.message}</span> : backtest.data ? timesWords(backtest.data) : <span className="ink-2">{t("OnceConditionIsWrittenThisShows")}</span>}
      </p>
      {isLimit && deviceId !== "" && (
        <>
          {ids.length > 1 && <Select label={t("Device")} options={ids.map((id, index) => [id, names[index] ?? id] as const)} value={deviceId} onChange={(event) => setChosen(event.target.value)} />}
          <Series {...drawing.lines} label={t("lastWeek")} span={span} isLoading={series.isPending} height={150} unit={known?.unit} bands={bands} limits={limits} />
          {slider && (
            <label className="backtest-slider">
              {t("MoveLimit")}
              <input type="range" min={slider.min} max={slider.max} step={slider.step} value={typeof limit === "number" ? limit : slider.min} onChange={(event) => onChange(movedLimit(form, event.target.value))} />
            </label>
          )}
        </>
      )}
    </section>
  );
}
