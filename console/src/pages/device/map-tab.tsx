// Where the device was in the range: its track, with the newest place bold and as exact as it is.
// The slider goes back in time.
import { useMemo, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { useRange, useZone } from "~/frame/page-state";
import { boundsOf } from "~/map/geometry";
import { MapView } from "~/map/map-view";
import { TrackLayer, type Fix } from "~/map/track-layer";
import { Empty, QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { formatTime, type Span } from "~/time";
import type { Device } from "./queries";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/device";

const PAGE_ITEMS = 1_000;
const PAGES_MAX = 2;

interface TrackFix extends Fix {
  readonly at: string;
}

interface Track {
  // The oldest first.
  readonly fixes: readonly TrackFix[];
  readonly isMore: boolean;
}

async function loadTrack(deviceId: string, span: Span, signal: AbortSignal): Promise<Track> {
  const fixes: TrackFix[] = [];
  let nextToken: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const query = {
      deviceId,
      beginDate: new Date(span.begin).toISOString(),
      endDate: new Date(span.end).toISOString(),
      ascending: false,
      limit: PAGE_ITEMS,
      nextToken,
    };
    const answer = await read(api.GET("/device/geoloc", { params: { query }, signal }));
    for (const { lat, lng, radius, timestamp } of answer.items)
      if (typeof lat === "number" && typeof lng === "number") fixes.push({ lat, lng, radius: radius ?? null, at: timestamp });
    nextToken = answer.nextToken ?? undefined;
    if (!nextToken) break;
  }
  return { fixes: fixes.reverse(), isMore: nextToken !== undefined };
}

function TrackMap({ device, track }: { device: Device; track: Track }) {
  const zone = useZone();
  const [shown, setShown] = useState<number | null>(null);
  const { fixes, isMore } = track;
  const count = Math.min(shown ?? fixes.length, fixes.length);
  const visible = useMemo(() => fixes.slice(0, count), [fixes, count]);
  const bounds = useMemo(() => boundsOf(fixes), [fixes]);
  const newest = visible[visible.length - 1];
  return (
    <>
      <div className="track-head">
        <label className="track-slider">
          <span>{t("Until")}</span>
          <input
            type="range"
            min={1}
            max={fixes.length}
            value={count}
            aria-valuetext={newest ? formatTime(Date.parse(newest.at), zone) : undefined}
            onChange={(event) => setShown(Number(event.target.value) === fixes.length ? null : Number(event.target.value))}
          />
        </label>
        {newest && (
          <span>
            <TimeText at={newest.at} withAgo />{" "}
            <span className="ink-2 number">
              {newest.lat.toFixed(5)}, {newest.lng.toFixed(5)}
              {newest.radius !== null && ` ± ${newest.radius.toLocaleString(LOCALE)} m`}
            </span>
          </span>
        )}
        <span className="ink-2 number">
          {isMore ? t("lastCountPositionsOfRange", { count: fixes.length }) : t("countPositionValue", { count: fixes.length, value: fixes.length === 1 ? "" : "s" })}
        </span>
      </div>
      <div className="track-map">
        <MapView label={t("TrackOfName", { name: device.name })} fit={bounds}>
          <TrackLayer fixes={visible} />
        </MapView>
      </div>
    </>
  );
}

export default function MapTab({ device }: { device: Device }) {
  const { span } = useRange();
  const query = useQuery({
    queryKey: ["device-track", device.deviceId, span.begin, span.end],
    queryFn: ({ signal }) => loadTrack(device.deviceId, span, signal),
    refetchInterval: 60_000,
  });
  return (
    <QueryView query={query} operation="GET /device/geoloc" groupId={device.groupId} noun={t("device")}>
      {(track) => (track.fixes.length > 0 ? <TrackMap device={device} track={track} /> : <Empty text={t("NoPositionIsKnownOfThis")} />)}
    </QueryView>
  );
}
