// The sections: where they lead, by which key, and what seeing them needs.
import { mayCall, type Rights } from "~/api/may";
import type { Operation } from "~/api/permissions";
import type { IconName } from "./icons";
import { t } from "~/messages/frame";

export interface Section {
  to: string;
  label: string;
  icon: IconName;
  key?: string;
  needs?: Operation;
  // Only for whoever runs the service.
  isOfOperators?: true;
}

const WATCH: readonly Section[] = [
  { to: "/g/$groupId/overview", label: t("Overview"), icon: "overview", key: "o", needs: "GET /group/overview" },
  { to: "/g/$groupId/alarms", label: t("Alarms"), icon: "alarms", key: "a", needs: "GET /group/alarms" },
  { to: "/g/$groupId/live", label: t("Live"), icon: "live", key: "l", needs: "GET /live" },
  { to: "/g/$groupId/devices", label: t("Devices"), icon: "devices", key: "d", needs: "GET /devices" },
  { to: "/g/$groupId/map", label: t("Map"), icon: "map", key: "m", needs: "GET /group/positions" },
  { to: "/g/$groupId/explore", label: t("Explore"), icon: "explore", key: "e", needs: "GET /group/series" },
];

const SEND: readonly Section[] = [
  { to: "/g/$groupId/connectors", label: t("Connectors"), icon: "connectors", key: "c", needs: "GET /connector/connectors" },
  { to: "/g/$groupId/messages", label: t("Deliveries"), icon: "messages", key: "s", needs: "GET /connector/messages" },
  { to: "/g/$groupId/notifications", label: t("Notifications"), icon: "notifications", key: "n", needs: "GET /notification/notifications" },
  { to: "/g/$groupId/contact-points", label: t("ContactPoints"), icon: "contactPoints", needs: "GET /group/contactPoints" },
  { to: "/g/$groupId/reports", label: t("Reports"), icon: "reports", key: "r", needs: "GET /group/reports" },
  { to: "/g/$groupId/shared-views", label: t("SharedViews"), icon: "sharedViews", needs: "GET /group/shares" },
];

const MANAGE: readonly Section[] = [
  { to: "/g/$groupId/jobs", label: t("Jobs"), icon: "jobs", needs: "GET /jobs" },
  { to: "/g/$groupId/people", label: t("People"), icon: "people", needs: "GET /group/users" },
  { to: "/g/$groupId/clients", label: t("AppClients"), icon: "clients", needs: "GET /group/appClients" },
  { to: "/g/$groupId/audit", label: t("AuditLog"), icon: "audit", needs: "GET /group/audit" },
  { to: "/g/$groupId/settings", label: t("Settings"), icon: "settings", needs: "GET /group" },
];

// In the order of how often they are opened, in blocks of what belongs together.
export const GROUP_BLOCKS = [WATCH, SEND, MANAGE] as const;
export const GROUP_SECTIONS: readonly Section[] = GROUP_BLOCKS.flat();

export const EVERYWHERE: readonly Section[] = [
  { to: "/groups", label: t("Groups"), icon: "groups" },
  { to: "/types", label: t("DeviceTypes"), icon: "types" },
  { to: "/roles", label: t("Roles"), icon: "roles" },
  { to: "/platform", label: t("Platform"), icon: "platform", isOfOperators: true },
];

export const SECTIONS: readonly Section[] = [...GROUP_SECTIONS, ...EVERYWHERE];

// What fits beside More on a phone: the first of these that may be seen.
const PLACES_MAX = 5;
const PLACES = [t("Overview"), t("Alarms"), t("Devices"), t("Map"), t("Live"), t("Deliveries"), t("Connectors"), t("Notifications"), t("Settings"), t("Groups")];

export function maySee(section: Section, groupId: string | null, rights: Rights): boolean {
  if (section.isOfOperators) return rights.isOperator;
  if (section.to.includes("$groupId") && groupId === null) return false;
  return !section.needs || mayCall(rights, section.needs);
}

export function phonePlaces(groupId: string | null, rights: Rights): readonly Section[] {
  const seen = SECTIONS.filter((each) => maySee(each, groupId, rights));
  const known = PLACES.flatMap((label) => seen.filter((each) => each.label === label));
  return known.slice(0, PLACES_MAX);
}
