// Permissions by what they are about, in the order in which a role is thought through.
export interface PermissionGroup<Permission> {
  title: string;
  sentence: string;
  permissions: readonly Permission[];
}

const GROUPS: readonly { title: string; sentence: string; nouns: readonly string[] }[] = [
  { title: "Groups and people", sentence: "Who belongs here, with which role, and which programs have access.", nouns: ["group", "member", "role", "appClient"] },
  { title: "Devices", sentence: "The devices themselves: what they are called, what they are, where they belong, and what is sent to them.", nouns: ["device"] },
  { title: "Records", sentence: "What devices have reported: data, events, geolocations and telemetry.", nouns: ["record"] },
  { title: "Connectors and notifications", sentence: "What leaves the service: deliveries to other systems, and alerts to people.", nouns: ["connector", "notification"] },
  { title: "Oversight", sentence: "How much there is, and who changed what.", nouns: ["metrics", "audit"] },
];
const PLATFORM = { title: "Platform", sentence: "For the whole service, and not for one group: only an operator can give them." };
const OWN = { title: "Added here", sentence: "Permissions that this service does not know itself: for programs that read the roles of people." };

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
