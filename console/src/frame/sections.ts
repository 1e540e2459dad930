// The sections at the side: where they lead, by which key, and what seeing them needs.
import type { Operation } from "~/api/permissions";

export interface Section {
  to: string;
  label: string;
  key?: string;
  needs?: Operation;
}

export const SECTIONS: readonly Section[] = [
  { to: "/g/$groupId/overview", label: "Overview", key: "o", needs: "GET /group/overview" },
  { to: "/g/$groupId/alarms", label: "Alarms", key: "a", needs: "GET /group/alarms" },
  { to: "/g/$groupId/live", label: "Live", key: "l", needs: "GET /live" },
  { to: "/g/$groupId/devices", label: "Devices", key: "d", needs: "GET /devices" },
  { to: "/g/$groupId/map", label: "Map", key: "m", needs: "GET /group/positions" },
  { to: "/g/$groupId/explore", label: "Explore", key: "e", needs: "GET /group/series" },
  { to: "/g/$groupId/connectors", label: "Connectors", key: "c", needs: "GET /connector/connectors" },
  { to: "/g/$groupId/messages", label: "Deliveries", key: "s", needs: "GET /connector/messages" },
  { to: "/g/$groupId/notifications", label: "Notifications", key: "n", needs: "GET /notification/notifications" },
  { to: "/g/$groupId/reports", label: "Reports", key: "r", needs: "GET /group/reports" },
];

export const MANAGE: readonly Section[] = [
  { to: "/groups", label: "Groups" },
  { to: "/g/$groupId/people", label: "People", needs: "GET /group/users" },
  { to: "/roles", label: "Roles" },
  { to: "/g/$groupId/clients", label: "App clients", needs: "GET /group/appClients" },
  { to: "/g/$groupId/contact-points", label: "Contact points", needs: "GET /group/contactPoints" },
  { to: "/g/$groupId/shared-views", label: "Shared views", needs: "GET /group/shares" },
  { to: "/g/$groupId/jobs", label: "Jobs", needs: "GET /jobs" },
  { to: "/g/$groupId/audit", label: "Audit log", needs: "GET /group/audit" },
  { to: "/types", label: "Device types" },
];
