// What the map says about a device: where it is good to know before opening its page.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import type { Place } from "~/map/geometry";
import { MapCard } from "~/map/map-card";
import { deviceValuesQuery, measurementLabel, valueText } from "~/measurements/values";
import { batteryPercent, silentSince } from "~/pages/devices/device-state";
import { ago } from "~/time";
import { nameOr } from "~/ui/name";
import { Pill } from "~/ui/pill";
import { TimeText, useNow } from "~/ui/time-text";
import { t } from "~/messages/map";

type Device = Schemas["Device"];

// The first ones, which are those that somebody has declared.
const VALUES_SHOWN = 4;

function Values({ device }: { device: Device }) {
  const values = useQuery(deviceValuesQuery(device.deviceId));
  if (values.isPending) return <p className="ink-2">{t("LoadingValues")}</p>;
  const shown = (values.data ?? []).filter((each) => !each.name.startsWith("telemetry.")).slice(0, VALUES_SHOWN);
  return (
    <>
      {shown.map((each) => (
        <div key={each.name} className="map-card-fact">
          <dt>{measurementLabel(each)}</dt>
          <dd>
            {valueText(each.value, each.decimals)}
            {each.unit && <span className="ink-2"> {each.unit}</span>}
          </dd>
        </div>
      ))}
    </>
  );
}

export function DeviceCard({ device, place, groupId, onClose }: { device: Device; place: Place; groupId: string; onClose: () => void }) {
  const now = useNow();
  const mayReadValues = useMay(groupId, "GET /device/values");
  const since = silentSince(device, now);
  const name = nameOr(device.name, device.deviceId);
  const battery = batteryPercent(device.battery);
  return (
    <MapCard
      place={place}
      label={t("DeviceName", { name })}
      onClose={onClose}
      title={
        <Link to="/d/$deviceId" params={{ deviceId: device.deviceId }}>
          {name}
        </Link>
      }
    >
      {since !== null && <Pill tone="warn">{t("silentValue", { value: ago(since, now).replace(" ago", "") })}</Pill>}
      <dl className="map-card-facts">
        {mayReadValues && <Values device={device} />}
        <div className="map-card-fact">
          <dt>{t("Battery")}</dt>
          <dd>{battery === null ? t("notReported") : `${battery} %`}</dd>
        </div>
        <div className="map-card-fact">
          <dt>{t("LastSeen")}</dt>
          <dd>
            <TimeText at={device.seenAt} withAgo none={t("never")} />
          </dd>
        </div>
      </dl>
      <p className="map-card-actions">
        <Link to="/d/$deviceId" params={{ deviceId: device.deviceId }} className="button button-normal">
          {t("OpenDevice")}
        </Link>
      </p>
    </MapCard>
  );
}
