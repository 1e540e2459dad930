import type { RawSearch } from "~/search";

export function notificationsSearch(_search: RawSearch): Record<never, never> {
  return {};
}

export function newNotificationSearch(_search: RawSearch): Record<never, never> {
  return {};
}

export function notificationSearch(_search: RawSearch): Record<never, never> {
  return {};
}
