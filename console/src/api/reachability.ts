// Since when the service has been unreachable, or null. One value for the page: the frame finds out, and
// whatever would change something waits.
import { useSyncExternalStore } from "react";
import { t } from "~/messages/api";

const UNREACHABLE_REASON = t("serviceCannotBeReached2");

let since: number | null = null;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function set(value: number | null): void {
  if (since === value) return;
  since = value;
  for (const listener of listeners) listener();
}

export function noteUnreachable(): void {
  set(since ?? Date.now());
}

export function noteReachable(): void {
  set(null);
}

// Why something that writes waits, if it does.
export function unreachableReason(isUnreachable: boolean, writes: boolean): string | undefined {
  return isUnreachable && writes ? UNREACHABLE_REASON : undefined;
}

export function useUnreachableReason(writes = true): string | undefined {
  return unreachableReason(useUnreachableSince() !== null, writes);
}

export function useUnreachableSince(): number | null {
  return useSyncExternalStore(subscribe, () => since);
}
