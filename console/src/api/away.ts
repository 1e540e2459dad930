// Since when the service has been away, or null. One value for the page: the frame finds out, and
// whatever would change something waits.
import { useSyncExternalStore } from "react";

const AWAY_REASON = "The service cannot be reached";

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

export function noteAway(): void {
  set(since ?? Date.now());
}

export function noteReachable(): void {
  set(null);
}

// Why something that writes waits, if it does.
export function awayReason(isAway: boolean, writes: boolean): string | undefined {
  return isAway && writes ? AWAY_REASON : undefined;
}

export function useAwayReason(writes = true): string | undefined {
  return awayReason(useAwaySince() !== null, writes);
}

export function useAwaySince(): number | null {
  return useSyncExternalStore(subscribe, () => since);
}
