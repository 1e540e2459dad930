// Permissions by what they are about, in the order in which a role is thought through.
import { t } from "~/messages/roles";

export interface PermissionGroup<Permission> {
  title: string;
  sentence: string;
  permissions: readonly Permission[];
}

const GROUPS: readonly { title: string; sentence: string; nouns: readonly string[] }[] = [
  { title: t("GroupsAndPeople"), sentence: t("WhoBelongsHereWithWhichRole"), nouns: ["group", "member", "role", "appClient"] },
  { title: t("Devices"), sentence: t("devicesThemselvesWhatTheyAreCalled"), nouns: ["device"] },
  { title: t("Records"), sentence: t("WhatDevicesHaveReportedDataEvents"), nouns: ["record"] },
  { title: t("ConnectorsAndNotifications"), sentence: t("WhatLeavesServiceDeliveriesToOther"), nouns: ["connector", "notification"] },
  { title: t("Oversight"), sentence: t("HowMuchThereIsAndWho"), nouns: ["metrics", "audit"] },
];
const PLATFORM = { title: t("Platform"), sentence: t("ForWholeServiceAndNotFor") };
const OWN = { title: t("AddedHere"), sentence: t("PermissionsThatThisServiceDoesNot") };

const PLATFORM_IDS: ReadonlySet<string> = new Set(["user.create", "deviceType.write", "group.limit", "permission.write"]);

function titleOf(id: string): string {
  if (PLATFORM_IDS.has(id)) return PLATFORM.title;
  const noun = id.split(".")[0] ?? "";
  return GROUPS.find(({ nouns }) => nouns.includes(noun))?.title ?? OWN.title;
}

export function groupPermissions<Permission extends { id: string }>(all: readonly Permission[]): PermissionGroup<Permission>[] {
  return [...GROUPS, PLATFORM, OWN]
    .map(({ title, sentence }) => ({ title, sentence, permissions: all.filter(({ id }) => titleOf(id) === title) }))
    .filter(({ permissions }) => permissions.length > 0);
}
