import { textParam, type RawSearch } from "~/search";

export interface NotificationsSearch {
  q?: string | undefined;
}

export function notificationsSearch(search: RawSearch): NotificationsSearch {
  return { q: textParam(search, "q") };
}

export interface NewNotificationSearch {
  type?: string | undefined;
}

export function newNotificationSearch(search: RawSearch): NewNotificationSearch {
  return { type: textParam(search, "type") };
}

export function notificationSearch(_search: RawSearch): Record<never, never> {
  return {};
}
