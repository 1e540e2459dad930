// Where shared devices are; a press on one says which it is.
import { useMemo, useState } from "react";
import type { Schemas } from "~/api/client";
import { boundsOf } from "~/map/geometry";
import { MapView } from "~/map/map-view";
import { PointLayer, type MapPoint } from "~/map/point-layer";
import { TimeText } from "~/ui/time-text";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/shared";

type Position = Schemas["SharedPosition"];

export default function SharedMap({ positions }: { positions: readonly Position[] }) {
  const [chosen, setChosen] = useState<readonly number[]>([]);
  const points = useMemo(
    () => positions.map(({ deviceName, lat, lng }, index): MapPoint => ({ id: String(index), name: deviceName, lat, lng, state: "fine" })),
    [positions],
  );
  // Later positions do not move the map.
  const [fit] = useState(() => (points.length > 0 ? boundsOf(points) : null));
  const selected = useMemo(() => new Set(chosen.map(String)), [chosen]);
  return (
    <>
      <MapView label={t("MapOfDevices")} fit={fit}>
        <PointLayer points={points} selected={selected} onOpen={(id) => setChosen([Number(id)])} onStack={(ids) => setChosen(ids.map(Number))} />
      </MapView>
      <p className="shared-chosen" role="status">
        {chosen.length === 0
          ? positions.length === 0
            ? t("NoDeviceHasSentPositionYet")
            : `${positions.length.toLocaleString(LOCALE)} ${t("devices", { count: positions.length })}`
          : chosen.flatMap((index) => {
              const found = positions[index];
              if (!found) return [];
              return (
                <span key={index}>
                  <strong>{found.deviceName}</strong> <TimeText at={found.timestamp} withAgo precision="minute" />
                </span>
              );
            })}
      </p>
    </>
  );
}
