// How the object of a change is now, with its fields under the names of the audit log.
import { api, ApiProblem, read } from "~/api/client";
import type { Fields } from "~/ui/diff-data";
import { changedSince, CHANGED_SINCE, type Noun, type UndoPlan, type UndoStep } from "./undo";
import { t } from "~/messages/audit";

export interface Current {
  readonly fields: Fields;
  readonly updatedAt: string | null;
}

function gone(noun: string): ApiProblem {
  return new ApiProblem({ status: 404, code: "not_found", detail: t("nounIsNotThereAnyMore", { noun }) });
}

// Lists without an operation for one of them; they are short.
async function findIn<T>(fetchPage: (nextToken: string | undefined) => Promise<{ items: T[]; nextToken?: string | null | undefined }>, isIt: (item: T) => boolean): Promise<T | undefined> {
  let token: string | undefined;
  do {
    const page = await fetchPage(token);
    const found = page.items.find(isIt);
    if (found) return found;
    token = page.nextToken ?? undefined;
  } while (token);
  return undefined;
}

const LOADERS: Readonly<Record<Noun, (plan: UndoPlan) => Promise<Current>>> = {
  device: async ({ id }) => {
    const device = await read(api.GET("/device", { params: { query: { deviceId: id } } }));
    return { fields: { ...device }, updatedAt: device.updatedAt };
  },
  connector: async ({ id, groupId }) => {
    const found = await read(api.GET("/connector", { params: { query: { connectorId: id, groupId } } }));
    const dataFailurePolicy = { storingDuration: found.dataFailurePolicy?.storingDuration };
    return { fields: { ...found, dataFailurePolicy }, updatedAt: found.updatedAt };
  },
  notification: async ({ id, groupId }) => {
    const found = await read(api.GET("/notification", { params: { query: { notificationId: id, groupId } } }));
    return { fields: { ...found }, updatedAt: found.updatedAt };
  },
  contactPoint: async ({ id, groupId }) => {
    const found = await read(api.GET("/contactPoint", { params: { query: { contactPointId: id, groupId } } }));
    return { fields: { ...found }, updatedAt: found.updatedAt ?? null };
  },
  group: async ({ id }) => {
    const [group] = await read(api.GET("/group", { params: { query: { groupId: id } } }));
    if (!group) throw gone("group");
    return { fields: { ...group, roleId: group.defaultRole, isDeleted: Boolean(group.deletionAt) }, updatedAt: group.updatedAt ?? null };
  },
  policy: async ({ id }) => {
    const found = await read(api.GET("/group/configuration", { params: { query: { groupId: id } } }));
    return { fields: { policy: found.policy }, updatedAt: found.updatedAt ?? null };
  },
  limits: async ({ id }) => {
    const found = await read(api.GET("/group/limits", { params: { query: { groupId: id } } }));
    return { fields: { ...found }, updatedAt: found.updatedAt ?? null };
  },
  deviceType: async ({ id }) => {
    const found = await read(api.GET("/device/type/definition", { params: { query: { type: id } } }));
    return { fields: { ...found }, updatedAt: found.updatedAt };
  },
  role: async ({ id }) => {
    const role = await findIn(
      (nextToken) => read(api.GET("/group/roles", { params: { query: { limit: 1_000, nextToken } } })),
      (each) => each.id === id,
    );
    if (!role) throw gone("role");
    return { fields: { ...role }, updatedAt: role.updatedAt ?? null };
  },
  member: async ({ id, groupId }) => {
    const member = await findIn(
      (nextToken) => read(api.GET("/group/users", { params: { query: { groupId, limit: 1_000, nextToken } } })),
      (each) => each.id === id,
    );
    if (!member) throw gone("member");
    return { fields: { roleId: member.role?.id }, updatedAt: member.membershipUpdatedAt ?? null };
  },
  appClient: async ({ id, groupId }) => {
    const client = await findIn(
      (nextToken) => read(api.GET("/group/appClients", { params: { query: { groupId, limit: 1_000, nextToken } } })),
      (each) => each.appClientId === id,
    );
    if (!client) throw gone(t("appClient"));
    return { fields: { name: client.name }, updatedAt: client.updatedAt ?? null };
  },
};

async function send(step: UndoStep, updatedAt: string | null): Promise<string | null> {
  const body = step.isVersioned && updatedAt ? { ...step.body, ifUpdatedAt: updatedAt } : step.body;
  const [method, path] = step.operation.split(" ") as ["PUT" | "POST", string];
  // The plan was built for its operation; the types of all bodies at once say nothing.
  const call = (method === "PUT" ? api.PUT : api.POST) as (path: string, init: { body: unknown }) => Promise<{ data?: unknown; response: Response }>;
  const answer = (await read(call(path, { body }))) as { updatedAt?: string } | undefined;
  return answer?.updatedAt ?? null;
}

// Undoes a change, unless somebody changed the same fields since.
export async function runUndo(plan: UndoPlan): Promise<void> {
  const current = await LOADERS[plan.noun](plan);
  const changed = changedSince(plan, current.fields);
  if (changed.length > 0) throw new Error(`${CHANGED_SINCE} Not as this change left it: ${changed.join(", ")}.`);
  let version = current.updatedAt;
  for (const each of plan.steps) version = await send(each, version);
}
