import { textParam, type RawSearch } from "~/search";

export interface NotificationsSearch {
  q?: string | undefined;
}

export function notificationsSearch(search: RawSearch): NotificationsSearch {
  return { q: textParam(search, "q") };
}

export interface NewNotificationSearch {
  type?: string | undefined;
  // A geofence that was drawn elsewhere.
  area?: string | undefined;
}

export function newNotificationSearch(search: RawSearch): NewNotificationSearch {
  const area = search.area;
  return { type: textParam(search, "type"), area: typeof area === "object" && area !== null ? JSON.stringify(area) : textParam(search, "area") };
}

export function notificationSearch(_search: RawSearch): Record<never, never> {
  return {};
}
