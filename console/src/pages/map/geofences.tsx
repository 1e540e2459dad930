// The areas of a group's notifications on the map: shown, drawn, changed and taken away there.
import { useMemo, useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { areaOf, boundsOfArea, geofenceOf, polygonOf, type Area } from "~/map/area";
import { AreaLayer } from "~/map/area-layer";
import { GeofenceLayer, type NamedArea } from "~/map/geofence-layer";
import type { Place } from "~/map/geometry";
import { MapCard } from "~/map/map-card";
import { boundsInView, useLeaflet } from "~/map/map-view";
import { notificationsQuery, refreshNotification, type Notification } from "~/pages/notifications/queries";
import { Button } from "~/ui/button";
import { nameOr } from "~/ui/name";
import { useSubmission } from "~/ui/submit";
import { hold, showToast } from "~/ui/toast";
import { t } from "~/messages/map";

const NONE: readonly Notification[] = [];
// Of the frame: how large an area is that is placed by a press of a button.
const SHARE = 0.2;

function paramsOf(notification: Notification): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(notification.params ?? "{}");
    return typeof found === "object" && found !== null ? (found as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function centreOf(area: Area): Place {
  const bounds = boundsOfArea(area);
  return bounds ? { lat: (bounds.north + bounds.south) / 2, lng: (bounds.west + bounds.east) / 2 } : { lat: 0, lng: 0 };
}

// For whoever has no pointer: an area in the middle, whose corners then are moved by arrow keys.
export function PlaceInTheMiddle({ onPlaced }: { onPlaced: (area: Area) => void }) {
  const map = useLeaflet();
  const put = () => {
    const { west, south, east, north } = boundsInView(map);
    const [lat, lng] = [(south + north) / 2, (west + east) / 2];
    const [height, width] = [(north - south) * SHARE, (east - west) * SHARE];
    const corners = [[1, -1], [1, 1], [-1, 1], [-1, -1]].map(([up, right]) => ({ lat: lat + (up as number) * height, lng: lng + (right as number) * width }));
    onPlaced(polygonOf(corners));
  };
  return (
    <button type="button" className="button button-normal" onClick={put}>
      {t("PlaceItInMiddle")}
    </button>
  );
}

function StoredArea({ groupId, notification, area, isEdited, onEdit, onClose }: { groupId: string; notification: Notification; area: Area; isEdited: boolean; onEdit: (isEdited: boolean) => void; onClose: () => void }) {
  const client = useQueryClient();
  const mayWrite = useMay(groupId, "PUT /notification");
  const submission = useSubmission();
  const [changed, setChanged] = useState(area);
  const name = nameOr(notification.name, notification.id);
  const save = () =>
    submission.run(async () => {
      const params = JSON.stringify({ ...paramsOf(notification), geofence: geofenceOf(changed) });
      const { id: notificationId, updatedAt } = notification;
      refreshNotification(client, await read(api.PUT("/notification", { body: { groupId, notificationId, params, ifUpdatedAt: updatedAt } })));
      showToast(t("areaIsSaved"));
      onEdit(false);
      onClose();
    });
  const remove = () => {
    onClose();
    hold(t("DeletingName", { name }), async () => {
      await read(api.DELETE("/notification", { params: { query: { name: groupId, notificationId: notification.id } } }));
      await client.invalidateQueries({ queryKey: notificationsQuery(groupId).queryKey });
    });
  };
  return (
    <>
      {isEdited && <AreaLayer area={changed} drawing={null} onDrawn={setChanged} />}
      <MapCard place={centreOf(area)} label={t("AreaOfName", { name })} title={name} onClose={onClose}>
        <p className="ink-2">
          {isEdited
            ? t("DragItsPointsOrMoveThem")
            : notification.reason === "geofenceExit"
              ? t("ItIsSentWhenDeviceLeaves")
              : t("ItIsSentWhenDeviceEnters")}
        </p>
        {submission.error && (
          <p role="alert" className="field-error">
            {submission.error}
          </p>
        )}
        <div className="map-card-actions">
          {isEdited ? (
            <>
              <Button look="primary" disabled={submission.isBusy} onClick={() => void save()}>
                {t("Save")}
              </Button>
              <Button onClick={() => onEdit(false)}>{t("Cancel")}</Button>
            </>
          ) : (
            <>
              {mayWrite && <Button onClick={() => onEdit(true)}>{t("EditArea")}</Button>}
              <Link to="/g/$groupId/notifications/$notificationId" params={{ groupId, notificationId: notification.id }} className="button button-normal">
                {t("OpenNotification")}
              </Link>
              {mayWrite && (
                <Button look="danger" title={t("areaBelongsToItsNotificationWhich")} onClick={remove}>
                  {t("Delete")}
                </Button>
              )}
            </>
          )}
        </div>
      </MapCard>
    </>
  );
}

function NewArea({ groupId, onClose }: { groupId: string; onClose: () => void }) {
  const navigate = useNavigate();
  const [area, setArea] = useState<Area | null>(null);
  const use = () => void navigate({ to: "/g/$groupId/notifications/new", params: { groupId }, search: { area: area ? JSON.stringify(geofenceOf(area)) : undefined } });
  return (
    <>
      <AreaLayer area={area} drawing={area ? null : "polygon"} onDrawn={setArea} />
      {area ? (
        <MapCard place={centreOf(area)} label={t("NewArea")} title={t("NewArea")} onClose={onClose}>
          <p className="ink-2">{t("DragItsPointsOrMoveThem")}</p>
          <div className="map-card-actions">
            <Button look="primary" onClick={use}>
              {t("NotifyOfDevicesHere")}
            </Button>
            <Button onClick={onClose}>{t("Cancel")}</Button>
          </div>
        </MapCard>
      ) : (
        <div className="map-drawing-bar" role="group" aria-label={t("NewArea")}>
          <span role="status">{t("PressEachCornerPressFirstOne")}</span>
          <PlaceInTheMiddle onPlaced={setArea} />
          <Button onClick={onClose}>{t("Cancel")}</Button>
        </div>
      )}
    </>
  );
}

export function Geofences({ groupId, isDrawing, onDrawn }: { groupId: string; isDrawing: boolean; onDrawn: () => void }) {
  const mayRead = useMay(groupId, "GET /notification/notifications");
  const notifications = useQuery({ ...notificationsQuery(groupId), enabled: mayRead }).data ?? NONE;
  const [open, setOpen] = useState<string | null>(null);
  const [isEdited, setEdited] = useState(false);
  const areas = useMemo(
    () =>
      notifications.flatMap((each): NamedArea[] => {
        const area = areaOf(paramsOf(each).geofence);
        return area ? [{ id: each.id, name: nameOr(each.name, each.id), area }] : [];
      }),
    [notifications],
  );
  const notification = notifications.find((each) => each.id === open);
  const shown = areas.find((each) => each.id === open);
  const close = () => {
    setOpen(null);
    setEdited(false);
  };
  return (
    <>
      <GeofenceLayer areas={areas} hidden={isEdited ? open : null} onOpen={setOpen} />
      {notification && shown && !isDrawing && (
        <StoredArea key={`${notification.id} ${notification.updatedAt ?? ""} ${String(isEdited)}`} groupId={groupId} notification={notification} area={shown.area} isEdited={isEdited} onEdit={setEdited} onClose={close} />
      )}
      {isDrawing && <NewArea groupId={groupId} onClose={onDrawn} />}
    </>
  );
}
