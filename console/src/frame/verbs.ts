// What the palette can begin, wherever one is: on a page of its own, or by what a page offers.
import { mayCall, type Rights } from "~/api/may";
import type { Operation } from "~/api/permissions";

export interface Verb {
  readonly label: string;
  // Found by these words, too.
  readonly also?: string;
  readonly path: string;
  // What the page at the path does then.
  readonly action?: string;
  readonly needs: Operation;
}

export const VERBS: readonly Verb[] = [
  { label: "New device", also: "create add", path: "/g/$groupId/devices", action: "new-device", needs: "POST /device" },
  { label: "Import devices", also: "upload csv", path: "/g/$groupId/devices/import", needs: "POST /devices/import" },
  { label: "New connector", also: "create add webhook forward", path: "/g/$groupId/connectors/new", needs: "POST /connector" },
  { label: "New notification", also: "create add alert rule", path: "/g/$groupId/notifications/new", needs: "POST /notification" },
  { label: "New contact point", also: "create add recipient", path: "/g/$groupId/contact-points/new", needs: "POST /contactPoint" },
  { label: "New report", also: "create add schedule", path: "/g/$groupId/reports/new", needs: "POST /report" },
  { label: "New app client", also: "create add token key api", path: "/g/$groupId/clients", action: "new-client", needs: "POST /appClient" },
  { label: "New group below this one", also: "create add subgroup", path: "/g/$groupId/settings", action: "new-group", needs: "POST /group" },
  { label: "Invite somebody", also: "person member add user", path: "/g/$groupId/people", action: "invite", needs: "PUT /group/invite" },
  { label: "Acknowledge alarms", also: "confirm", path: "/g/$groupId/alarms", needs: "POST /alarm/acknowledge" },
  { label: "Silence alarms", also: "mute maintenance", path: "/g/$groupId/alarms", action: "silence", needs: "POST /alarm/silence" },
  { label: "Show unknown devices", also: "refused rejected", path: "/g/$groupId/unknown-devices", needs: "GET /group/unknownDevices" },
  { label: "Show configuration drift", also: "differs", path: "/g/$groupId/drift", needs: "GET /group/drift" },
];

export interface Setting {
  readonly label: string;
  readonly also: string;
  readonly path: string;
  // Without it, everybody has it.
  readonly needs?: Operation;
}

export const SETTINGS: readonly Setting[] = [
  { label: "Your name", also: "account profile", path: "/account" },
  { label: "Password", also: "account change sign in", path: "/account" },
  { label: "Passkeys and authenticator app", also: "account two factor totp security", path: "/account" },
  { label: "Your sessions", also: "account sign out devices", path: "/account" },
  { label: "Theme, density and single keys", also: "account appearance dark light shortcuts zone time", path: "/account" },
  { label: "Name and description of the group", also: "rename tags", path: "/g/$groupId/settings", needs: "PUT /group" },
  { label: "Network token and callback URLs", also: "chirpstack ttn loriot thingpark webhook", path: "/g/$groupId/settings", needs: "PUT /group" },
  { label: "Limits and retention of the group", also: "quota keep days", path: "/g/$groupId/settings", needs: "GET /group/limits" },
  { label: "Configuration policy of the group", also: "desired devices", path: "/g/$groupId/settings", needs: "GET /group/configuration" },
];

export function allowed<Item extends { readonly path: string; readonly needs?: Operation }>(items: readonly Item[], groupId: string | null, rights: Rights): readonly Item[] {
  return items.filter((each) => (groupId !== null || !each.path.includes("$groupId")) && (!each.needs || mayCall(rights, each.needs)));
}

export function pathIn(path: string, groupId: string | null): string {
  return path.replace("$groupId", groupId ?? "");
}
