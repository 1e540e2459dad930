// What can be done with many devices, as requests by id, as a job, and back again.
import { api, read, type Schemas } from "~/api/client";
import { STEP_MAX, countOf, reverseTags, reverseType, runSteps, type ReverseChange } from "./bulk";
import { t } from "~/messages/devices";

type Device = Schemas["Device"];

export type BulkAction =
  | { readonly kind: "tag"; readonly addTags: string[]; readonly removeTags: string[] }
  | { readonly kind: "type"; readonly type: string }
  | { readonly kind: "transfer"; readonly toGroupId: string; readonly toName: string }
  | { readonly kind: "delete" };

export function callOf(action: BulkAction): (groupId: string, deviceIds: string[]) => Promise<unknown> {
  return (groupId, deviceIds) => {
    if (action.kind === "transfer")
      return read(api.PUT("/devices/transfer", { body: { groupId, deviceIds, toGroupId: action.toGroupId } }));
    if (action.kind === "delete") return read(api.POST("/devices/delete", { body: { groupId, deviceIds } }));
    const change = action.kind === "type" ? { type: action.type } : tagsOf(action);
    return read(api.PUT("/devices", { body: { groupId, deviceIds, ...change } }));
  };
}

function tagsOf(action: { addTags: string[]; removeTags: string[] }) {
  return {
    ...(action.addTags.length ? { addTags: action.addTags } : {}),
    ...(action.removeTags.length ? { removeTags: action.removeTags } : {}),
  };
}

export function jobParametersOf(action: BulkAction): Schemas["JobParameters"] {
  if (action.kind === "transfer") return { toGroupId: action.toGroupId };
  if (action.kind === "type") return { type: action.type };
  return action.kind === "tag" ? tagsOf(action) : {};
}

// "Move 40 devices to Rail"; in the past, "Moved 40 devices to Rail".
export function wordsOf(action: BulkAction, count: number, isPast: boolean): string {
  const devices = countOf(count);
  if (action.kind === "transfer") return t("valueDevicesToToName", { value: isPast ? t("Moved") : t("Move"), devices, toName: action.toName });
  if (action.kind === "type") return t("valueTypeOfDevicesToType", { value: isPast ? t("Changed") : t("Change"), devices, type: action.type });
  if (action.kind === "delete") return `${isPast ? t("Deleted") : t("Delete")} ${devices}`;
  return `${isPast ? t("Tagged") : t("Tag")} ${devices}`;
}

async function changeBack(changes: readonly ReverseChange[]): Promise<void> {
  for (const { deviceIds, ...rest } of changes)
    for (let at = 0; at < deviceIds.length; at += STEP_MAX)
      await read(api.PUT("/devices", { body: { ...rest, deviceIds: deviceIds.slice(at, at + STEP_MAX) } }));
}

// The reverse of what was done with these devices, as they were before; null where there is none.
export function undoOf(action: BulkAction, before: readonly Device[]): (() => Promise<void>) | null {
  if (action.kind === "tag") return () => changeBack(reverseTags(before, action.addTags, action.removeTags));
  if (action.kind === "type") return () => changeBack(reverseType(before, action.type));
  if (action.kind === "delete") return null;
  return async () => {
    for (const origin of new Set(before.map((device) => device.groupId))) {
      const devices = before.filter((device) => device.groupId === origin);
      const moved = devices.map((device) => ({ ...device, groupId: action.toGroupId }));
      const back = callOf({ kind: "transfer", toGroupId: origin, toName: "" });
      const outcome = await runSteps(moved, back, { isStopped: () => false, onProgress: () => {} });
      if (outcome.left.length > 0)
        throw outcome.failure ?? new Error(`${countOf(outcome.left.length)} could not be moved back: ${outcome.refused.map((each) => each.target.name).slice(0, 5).join(", ")}.`);
    }
  };
}
