// What has arrived with the token of the group and is about none of its devices, as it arrives.
import { useState } from "react";
import { Link } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { mayCall, type Rights } from "~/api/may";
import { CreateDialog } from "~/pages/unknown/create-dialog";
import { canBeCreated, keyOf, reasonWords, type UnknownDevice } from "~/pages/unknown/words";
import { Button } from "~/ui/button";
import { Pill } from "~/ui/pill";
import { TimeText } from "~/ui/time-text";
import { t } from "~/messages/overview";

const SHOWN_MAX = 5;
const REFRESH_MS = 3_000;

export function useArrivals(groupId: string, isWatched: boolean): readonly UnknownDevice[] {
  const query = useQuery({
    queryKey: ["unknown-devices", groupId, "first"],
    queryFn: ({ signal }) => read(api.GET("/group/unknownDevices", { params: { query: { groupId, limit: SHOWN_MAX + 1 } }, signal })),
    refetchInterval: REFRESH_MS,
    enabled: isWatched,
  });
  return query.data?.items ?? [];
}

export function Arrivals({ groupId, rights, devices }: { groupId: string; rights: Rights; devices: readonly UnknownDevice[] }) {
  const [created, setCreated] = useState<UnknownDevice | null>(null);
  const mayCreate = mayCall(rights, "POST /device");
  if (devices.length === 0) return null;
  return (
    <div className="overview-arrivals">
      <p className="ink-2">{t("TheseHaveReportedAndNoDevice")}</p>
      <ul aria-label={t("UnknownDevices")}>
        {devices.slice(0, SHOWN_MAX).map((device) => {
          const words = reasonWords(device.reason);
          return (
            <li key={keyOf(device)}>
              <span>
                <code>{device.originalId || t("noId")}</code> <span className="ink-2">{device.network}</span>
              </span>
              <span>
                <Pill tone={words.tone}>{words.state}</Pill> <span className="ink-2">{device.detail}</span>
              </span>
              <TimeText at={device.lastAt} withAgo precision="second" />
              {mayCreate && canBeCreated(device) && (
                <Button look="primary" onClick={() => setCreated(device)} aria-label={t("CreateThisDeviceOriginalId", { originalId: device.originalId })}>
                  {t("Create")}
                </Button>
              )}
            </li>
          );
        })}
      </ul>
      {devices.length > SHOWN_MAX && (
        <Link to="/g/$groupId/unknown-devices" params={{ groupId }}>
          {t("AllUnknownDevices")}
        </Link>
      )}
      {created && <CreateDialog device={created} onClose={() => setCreated(null)} />}
    </div>
  );
}
