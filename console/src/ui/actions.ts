// What can be done on the page that is open, for the palette: with what is selected there, or by a verb
// that was chosen on another page, which is done as soon as its page offers it.
import { useEffect, useRef, useSyncExternalStore } from "react";

export interface PageAction {
  readonly id: string;
  readonly label: string;
  readonly run: () => void;
}

const WAIT_MS = 10_000;

const active = new Set<{ readonly current: readonly PageAction[] }>();
let waiting: { readonly id: string; readonly until: number } | null = null;

let version = 0;
const listeners = new Set<() => void>();

function changed(): void {
  version += 1;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// Those of the open page, also while they change.
export function useOfferedActions(): readonly PageAction[] {
  useSyncExternalStore(subscribe, () => version);
  return [...active].flatMap((each) => each.current);
}

// A page that never offers it, as when its rights have changed, lets it expire.
export function runWhenOffered(id: string): void {
  waiting = { id, until: Date.now() + WAIT_MS };
}

function takeWaiting(actions: readonly PageAction[]): PageAction | undefined {
  const wanted = waiting;
  if (wanted === null) return undefined;
  const found = wanted.until > Date.now() ? actions.find((each) => each.id === wanted.id) : undefined;
  if (found || wanted.until <= Date.now()) waiting = null;
  return found;
}

export function usePageActions(actions: readonly PageAction[]): void {
  const current = useRef(actions);
  current.current = actions;
  useEffect(() => {
    active.add(current);
    return () => {
      active.delete(current);
      changed();
    };
  }, []);
  const shown = actions.map((each) => `${each.id} ${each.label}`).join("\n");
  useEffect(changed, [shown]);
  useEffect(() => {
    takeWaiting(actions)?.run();
  });
}
