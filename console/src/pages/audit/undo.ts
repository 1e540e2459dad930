// How a change of the audit log is undone: by setting its fields back, where they still are as the
// change has set them. Pure: what is to be sent, or why there is nothing.
import type { Schemas } from "~/api/client";
import type { Operation } from "~/api/permissions";
import { MASK } from "~/pages/connectors/schema-form";
import { isSame, type Fields } from "~/ui/diff-data";
import { t } from "~/messages/audit";

export type AuditEntry = Schemas["AuditEntry"];
export type Noun = "device" | "connector" | "notification" | "contactPoint" | "group" | "policy" | "limits" | "role" | "member" | "appClient" | "deviceType";

export interface UndoStep {
  readonly operation: Operation;
  readonly body: Fields;
  // Whether it takes `ifUpdatedAt`, so that nobody's change is lost in between.
  readonly isVersioned: boolean;
}

export interface UndoPlan {
  readonly noun: Noun;
  readonly id: string;
  readonly groupId: string;
  // What must still be so.
  readonly expected: Fields;
  readonly steps: readonly UndoStep[];
}

export interface NoUndo {
  readonly reason: string;
}

export const CHANGED_SINCE = t("ItWasChangedSince");

const NO_UNDO: Readonly<Record<string, string>> = {
  "appClient.delete": t("ItsSecretIsGoneCreateNew"),
  "contactPoint.delete": t("ItsSecretsAreGoneCreateNew"),
  "connector.delete": t("ItsSecretsAndQueuedDeliveriesAre"),
  "connector.disable": t("ItsDestinationRejectedDeliveriesPermanentlyEnable"),
  "device.delete": t("deviceIsGoneWithItsRecords"),
  "deviceType.delete": t("CreateItAgainWhatItWas"),
  "group.delete": t("groupIsGone"),
  "group.rotateToken": t("oldTokenIsGone"),
  "job.create": t("UndoItOnPageOfJob"),
  "member.remove": t("InvitePersonAgain"),
  "notification.delete": t("ItsSecretsAreGoneCreateNewNotification"),
  "notification.disable": t("EnableItOnItsOwnPage"),
  "report.delete": t("ItsScheduleAndItsFilesAre"),
  "report.stop": t("EnableItOnItsOwnPageFromThenOn"),
  "report.update": t("ChangeItOnItsOwnPage"),
  "role.delete": t("NobodyHasRoleAnyMoreCreate"),
};

const CREATED = /\.(create|add|invite|restore|accept)$/;

function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.filter((name) => name in fields).map((name) => [name, fields[name]]));
}

function step(operation: Operation, body: Fields, isVersioned = true): UndoStep {
  return { operation, body, isVersioned };
}

function deviceSteps(entry: AuditEntry, before: Fields): UndoStep[] {
  const keys = { deviceId: entry.objectId, groupId: entry.groupId };
  const { type, ...fields } = before;
  // A new type comes with its default configuration, so the old one is set after it.
  const first = type === undefined ? [] : [step("PUT /device/type", { ...keys, type })];
  return [...first, ...(Object.keys(fields).length > 0 ? [step("PUT /device", { ...keys, ...fields })] : [])];
}

type Builder = (entry: AuditEntry, before: Fields, after: Fields) => { noun: Noun; steps: UndoStep[] };

// The audit log has fields as the operation takes them, so what was there before is a change.
const BUILDERS: Readonly<Record<string, Builder>> = {
  "device.update": (entry, before) => ({ noun: "device", steps: deviceSteps(entry, before) }),
  "device.replaceHardware": (entry, before) => ({ noun: "device", steps: deviceSteps(entry, before) }),
  "device.transfer": (entry, before, after) => ({
    noun: "device",
    steps: [step("PUT /device/transfer", { deviceId: entry.objectId, groupId: after["groupId"], toGroupId: before["groupId"] }, false)],
  }),
  "connector.update": (entry, before) => ({ noun: "connector", steps: [step("PUT /connector", { connectorId: entry.objectId, groupId: entry.groupId, ...before })] }),
  "notification.update": (entry, before) => ({
    noun: "notification",
    steps: [step("PUT /notification", { notificationId: entry.objectId, groupId: entry.groupId, ...before })],
  }),
  "contactPoint.update": (entry, before) => ({
    noun: "contactPoint",
    steps: [step("PUT /contactPoint", { contactPointId: entry.objectId, groupId: entry.groupId, ...before })],
  }),
  "group.update": (entry, before) => ({ noun: "group", steps: [step("PUT /group", { groupId: entry.objectId, ...before })] }),
  "group.updateConfiguration": (entry, before) => ({ noun: "policy", steps: [step("PUT /group/configuration", { groupId: entry.objectId, policy: before["policy"] ?? {} })] }),
  "group.updateLimits": (entry, before) => ({ noun: "limits", steps: [step("PUT /group/limits", { groupId: entry.objectId, ...before })] }),
  "group.updateRetention": (entry, before) => ({ noun: "limits", steps: [step("PUT /group/retention", { groupId: entry.objectId, ...before })] }),
  "deviceType.update": (entry, before) => ({ noun: "deviceType", steps: [step("PUT /device/type/definition", { type: entry.objectId, ...before })] }),
  "role.update": (entry, before) => ({ noun: "role", steps: [step("PUT /role", { roleId: entry.objectId, groupId: entry.groupId, ...before })] }),
  "member.update": (entry, before) => ({ noun: "member", steps: [step("PUT /group/user", { userId: entry.objectId, groupId: entry.groupId, ...before })] }),
  "appClient.update": (entry, before, after) => ({
    noun: "appClient",
    steps: [
      step("PUT /appClient", {
        groupId: entry.groupId,
        name: after["name"] ?? entry.objectName,
        newName: before["name"] ?? entry.objectName,
        ...("roleId" in before ? { roleId: before["roleId"] ?? "" } : {}),
      }),
    ],
  }),
};

// Whether the URL before leads to another host, so that its masked rest cannot be that of the present one.
function isOtherUrl(before: Fields, after: Fields): boolean {
  const [was, is] = [paramsOf(before), paramsOf(after)].map((params) => (isFields(params) ? params["url"] : undefined));
  return typeof was === "string" && was.endsWith(`/${MASK}`) && was !== is;
}

function reasonOf(entry: AuditEntry): string {
  const known = NO_UNDO[entry.action];
  if (known) return known;
  if (CREATED.test(entry.action)) return t("WhatWasCreatedCanBeDeleted");
  return t("ThisCannotBeUndone");
}

export function undoOf(entry: AuditEntry): UndoPlan | NoUndo {
  if (entry.action === "group.scheduleDeletion")
    return {
      noun: "group",
      id: entry.objectId,
      groupId: entry.groupId,
      expected: { isDeleted: true },
      steps: [step("POST /group/restore", { groupId: entry.objectId }, false)],
    };
  const build = BUILDERS[entry.action];
  if (!build) return { reason: reasonOf(entry) };
  if (entry.omittedFields?.length) return { reason: t("NotAllOfItIsKept", { value: entry.omittedFields.join(", ") }) };
  const before = entry.before as Fields | null | undefined;
  const after = entry.after as Fields | null | undefined;
  if (!before || !after) return { reason: t("ItChangedNothingThatIsKept") };
  const changed = Object.keys(after).filter((name) => !isSame(before[name], after[name]));
  if (changed.length === 0) return { reason: t("OnlySecretWasChangedAndSecrets") };
  if (isOtherUrl(before, after)) return { reason: t("URLWasChangedAndOfOne") };
  const built = build(entry, pick(before, changed), pick(after, changed));
  return { noun: built.noun, id: entry.objectId, groupId: entry.groupId, expected: pick(after, changed), steps: built.steps };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// The present value, masked where the audit log has masked it.
function maskLike(shown: unknown, present: unknown): unknown {
  if (isFields(shown) && isFields(present)) return Object.fromEntries(Object.entries(present).map(([name, each]) => [name, maskLike(shown[name], each)]));
  if (typeof shown !== "string" || typeof present !== "string") return present;
  const isMasked = shown === MASK || (shown.endsWith(`/${MASK}`) && present.startsWith(shown.slice(0, -MASK.length)));
  return isMasked ? shown : present;
}

function paramsOf(fields: Fields): unknown {
  try {
    return JSON.parse(String(fields["params"]));
  } catch {
    return fields["params"];
  }
}

// The fields that are not as the change has left them. Secrets are not compared: the log does not have them.
export function changedSince(plan: UndoPlan, current: Fields): string[] {
  const present: Fields = "params" in plan.expected && "params" in current ? { ...current, params: maskLike(paramsOf(plan.expected), paramsOf(current)) } : current;
  return Object.keys(plan.expected).filter((name) => name in present && !isSame(plan.expected[name], present[name]));
}

export function isPlan(answer: UndoPlan | NoUndo): answer is UndoPlan {
  return "steps" in answer;
}
