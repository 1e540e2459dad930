// What the palette can begin, wherever one is: on a page of its own, or by what a page offers.
import { mayCall, type Rights } from "~/api/may";
import type { Operation } from "~/api/permissions";
import { t } from "~/messages/frame";

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
  { label: t("NewDevice"), also: t("createAdd"), path: "/g/$groupId/devices", action: "new-device", needs: "POST /device" },
  { label: t("ImportDevices"), also: t("uploadCsv"), path: "/g/$groupId/devices/import", needs: "POST /devices/import" },
  { label: t("NewConnector"), also: t("createAddWebhookForward"), path: "/g/$groupId/connectors/new", needs: "POST /connector" },
  { label: t("NewNotification"), also: t("createAddAlertRule"), path: "/g/$groupId/notifications/new", needs: "POST /notification" },
  { label: t("NewContactPoint"), also: t("createAddRecipient"), path: "/g/$groupId/contact-points/new", needs: "POST /contactPoint" },
  { label: t("NewReport"), also: t("createAddSchedule"), path: "/g/$groupId/reports/new", needs: "POST /report" },
  { label: t("NewAppClient"), also: t("createAddTokenKeyApi"), path: "/g/$groupId/clients", action: "new-client", needs: "POST /appClient" },
  { label: t("NewGroupBelowThisOne"), also: t("createAddSubgroup"), path: "/g/$groupId/settings", action: "new-group", needs: "POST /group" },
  { label: t("InviteSomebody"), also: t("personMemberAddUser"), path: "/g/$groupId/people", action: "invite", needs: "PUT /group/invite" },
  { label: t("AcknowledgeAlarms"), also: "confirm", path: "/g/$groupId/alarms", needs: "POST /alarm/acknowledge" },
  { label: t("SilenceAlarms"), also: t("muteMaintenance"), path: "/g/$groupId/alarms", action: "silence", needs: "POST /alarm/silence" },
  { label: t("ShowUnknownDevices"), also: t("refusedRejected"), path: "/g/$groupId/unknown-devices", needs: "GET /group/unknownDevices" },
  { label: t("ShowConfigurationDrift"), also: "differs", path: "/g/$groupId/drift", needs: "GET /group/drift" },
];

export interface Setting {
  readonly label: string;
  readonly also: string;
  readonly path: string;
  // Without it, everybody has it.
  readonly needs?: Operation;
}

export const SETTINGS: readonly Setting[] = [
  { label: t("YourName"), also: t("accountProfile"), path: "/account" },
  { label: t("Password"), also: t("accountChangeSignIn"), path: "/account" },
  { label: t("PasskeysAndAuthenticatorApp"), also: t("accountTwoFactorTotpSecurity"), path: "/account" },
  { label: t("YourSessions"), also: t("accountSignOutDevices"), path: "/account" },
  { label: t("ThemeDensityAndSingleKeys"), also: t("accountAppearanceDarkLightShortcutsZone"), path: "/account" },
  { label: t("NameAndDescriptionOfGroup"), also: t("renameTags"), path: "/g/$groupId/settings", needs: "PUT /group" },
  { label: t("NetworkTokenAndCallbackURLs"), also: t("chirpstackTtnLoriotThingparkWebhook"), path: "/g/$groupId/settings", needs: "PUT /group" },
  { label: t("LimitsAndRetentionOfGroup"), also: t("quotaKeepDays"), path: "/g/$groupId/settings", needs: "GET /group/limits" },
  { label: t("ConfigurationPolicyOfGroup"), also: t("desiredDevices"), path: "/g/$groupId/settings", needs: "GET /group/configuration" },
];

export function allowed<Item extends { readonly path: string; readonly needs?: Operation }>(items: readonly Item[], groupId: string | null, rights: Rights): readonly Item[] {
  return items.filter((each) => (groupId !== null || !each.path.includes("$groupId")) && (!each.needs || mayCall(rights, each.needs)));
}

export function pathIn(path: string, groupId: string | null): string {
  return path.replace("$groupId", groupId ?? "");
}
