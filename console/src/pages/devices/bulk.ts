// Changes of many devices: in steps of at most 1,000 of one group, each of which happens as a
// whole or not at all. What a step refused is named, and the steps after it still run.
import { ApiProblem, type Schemas } from "~/api/client";
import { LOCALE } from "~/i18n";

type Device = Schemas["Device"];

export const STEP_MAX = 1_000;

export interface Target {
  readonly deviceId: string;
  readonly groupId: string;
  readonly name: string;
}

export interface Refusal {
  readonly target: Target;
  readonly message: string;
}

export interface BulkOutcome {
  readonly done: readonly Target[];
  // Named by the service; nothing of their step was changed.
  readonly refused: readonly Refusal[];
  // Not changed: those of a refused step, and those that were not reached.
  readonly left: readonly Target[];
  // Why it ended early: stopped, or a failure that is not about single devices.
  readonly stopped: boolean;
  readonly failure: Error | null;
}

// Groups in the order in which they first appear, at most 1,000 devices each.
export function stepsOf<T extends Target>(targets: readonly T[], size = STEP_MAX): T[][] {
  const byGroup = new Map<string, T[]>();
  for (const each of targets) {
    const known = byGroup.get(each.groupId);
    if (known) known.push(each);
    else byGroup.set(each.groupId, [each]);
  }
  return [...byGroup.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / size) }, (_, index) => group.slice(index * size, (index + 1) * size)),
  );
}

// The devices that a refusal names by their place in the request.
export function refusedOf(problem: ApiProblem, step: readonly Target[]): Refusal[] {
  return problem.fields.flatMap((each) => {
    const place = /^deviceIds\[(\d+)\]$/.exec(each.field)?.[1];
    const target = place === undefined ? undefined : step[Number(place)];
    return target ? [{ target, message: each.message }] : [];
  });
}

export async function runSteps(
  targets: readonly Target[],
  call: (groupId: string, deviceIds: string[]) => Promise<unknown>,
  watch: { isStopped: () => boolean; onProgress: (done: number, total: number) => void },
): Promise<BulkOutcome> {
  const done: Target[] = [];
  const left: Target[] = [];
  const refused: Refusal[] = [];
  let failure: Error | null = null;
  let stopped = false;
  let looked = 0;
  for (const step of stepsOf(targets)) {
    stopped ||= watch.isStopped();
    if (stopped || failure) {
      left.push(...step);
      continue;
    }
    try {
      await call(step[0]?.groupId ?? "", step.map((each) => each.deviceId));
      done.push(...step);
    } catch (error) {
      left.push(...step);
      const named = error instanceof ApiProblem ? refusedOf(error, step) : [];
      if (named.length > 0) refused.push(...named);
      else failure = error instanceof Error ? error : new Error(String(error));
    }
    looked += step.length;
    watch.onProgress(looked, targets.length);
  }
  return { done, refused, left, stopped, failure };
}

export interface ReverseChange {
  readonly groupId: string;
  readonly deviceIds: string[];
  readonly addTags?: string[];
  readonly removeTags?: string[];
  readonly type?: string;
  readonly configuration?: string;
}

function grouped(devices: readonly Device[], changeOf: (device: Device) => Omit<ReverseChange, "groupId" | "deviceIds"> | null): ReverseChange[] {
  const found = new Map<string, ReverseChange>();
  for (const device of devices) {
    const change = changeOf(device);
    if (!change) continue;
    const key = JSON.stringify([device.groupId, change]);
    const known = found.get(key);
    if (known) known.deviceIds.push(device.deviceId);
    else found.set(key, { groupId: device.groupId, deviceIds: [device.deviceId], ...change });
  }
  return [...found.values()];
}

// What takes a change of tags back: a tag that a device had before stays.
export function reverseTags(before: readonly Device[], added: readonly string[], removed: readonly string[]): ReverseChange[] {
  return grouped(before, (device) => {
    const had = new Set(device.tags ?? []);
    const removeTags = added.filter((tag) => !had.has(tag));
    const addTags = removed.filter((tag) => had.has(tag));
    if (removeTags.length + addTags.length === 0) return null;
    return { ...(addTags.length ? { addTags } : {}), ...(removeTags.length ? { removeTags } : {}) };
  });
}

// The type and the configuration that each had: a new type resets it.
export function reverseType(before: readonly Device[], type: string): ReverseChange[] {
  return grouped(before, (device) =>
    device.type === type ? null : { type: device.type, ...(device.configuration ? { configuration: device.configuration } : {}) },
  );
}

// Tags as typed: with commas between them, each once.
export function parseTags(text: string): string[] {
  return [...new Set(text.split(",").map((tag) => tag.trim()).filter(Boolean))];
}

export function countOf(count: number, noun = "device"): string {
  return `${count.toLocaleString(LOCALE)} ${noun}${count === 1 ? "" : "s"}`;
}
