// Which page of the documents fits each screen; `#` leads to a part of it.
import type { router } from "~/routes";

type Path = keyof (typeof router)["routesByPath"];

export const HELP = {
  "/": "guides/console",
  "/sign-in": "guides/sign-in",
  "/report": "guides/reports",
  "/g/$groupId": "guides/console",
  "/g/$groupId/overview": "guides/console#first-steps",
  "/g/$groupId/alarms": "guides/notifications",
  "/g/$groupId/live": "guides/console#live",
  "/g/$groupId/devices": "guides/console#devices",
  "/g/$groupId/devices/import": "guides/import-export",
  "/g/$groupId/map": "guides/console#map",
  "/g/$groupId/explore": "guides/measurements",
  "/g/$groupId/connectors": "guides/connectors",
  "/g/$groupId/connectors/new": "guides/connectors",
  "/g/$groupId/connectors/$connectorId": "guides/connectors",
  "/g/$groupId/messages": "guides/connectors",
  "/g/$groupId/notifications": "guides/notifications",
  "/g/$groupId/notifications/new": "guides/notifications",
  "/g/$groupId/notifications/$notificationId": "guides/notifications",
  "/g/$groupId/reports": "guides/reports",
  "/g/$groupId/reports/new": "guides/reports",
  "/g/$groupId/reports/$reportId": "guides/reports",
  "/g/$groupId/contact-points": "guides/notifications",
  "/g/$groupId/contact-points/new": "guides/notifications",
  "/g/$groupId/contact-points/$contactPointId": "guides/notifications",
  "/g/$groupId/shared-views": "guides/shared-views",
  "/g/$groupId/settings": "guides/networks#group-token",
  "/g/$groupId/people": "concepts",
  "/g/$groupId/clients": "guides/clients",
  "/g/$groupId/audit": "guides/console#audit-log",
  "/g/$groupId/jobs": "guides/jobs",
  "/g/$groupId/jobs/$jobId": "guides/jobs",
  "/g/$groupId/drift": "guides/device-configuration",
  "/g/$groupId/unknown-devices": "guides/networks#unknown-devices",
  "/d/$deviceId": "guides/console#device",
  "/r/$recordId": "guides/records#trace",
  "/m/$messageId": "guides/records#trace",
  "/groups": "concepts",
  "/roles": "reference/permissions",
  "/types": "guides/device-types",
  "/types/$type": "guides/device-types",
  "/account": "guides/sign-in",
  "/platform": "operate/monitoring",
} as const satisfies Readonly<Record<Path, string>>;

export function helpOf(path: string): string {
  const place: string = (HELP as Readonly<Record<string, string>>)[path] ?? "";
  const [page = "", part] = place.split("#");
  return `${page && `${page}/`}${part ? `#${part}` : ""}`;
}
