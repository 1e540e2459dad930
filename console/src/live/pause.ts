// Whether this page holds still. The stream goes on, and what comes is collected.
import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let isPaused = false;

export function paused(): boolean {
  return isPaused;
}

export function setPaused(next: boolean): void {
  if (next === isPaused) return;
  isPaused = next;
  for (const listener of listeners) listener();
}

export function onPaused(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function usePaused(): boolean {
  return useSyncExternalStore(onPaused, paused, paused);
}
