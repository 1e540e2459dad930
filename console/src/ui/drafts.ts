// What is typed and not saved: every form says whether it has something to lose, and whatever would close
// it asks first.
import { createContext, useContext, useEffect, useState, useSyncExternalStore } from "react";

export type Drafts = Set<object>;

// All forms of the page that have something unsaved.
const drafts: Drafts = new Set();
const listeners = new Set<() => void>();

// Those of the dialog that a form stands in.
export const DialogDrafts = createContext<Drafts | null>(null);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function hasDrafts(): boolean {
  return drafts.size > 0;
}

// For whoever has asked already, or may not ask: what is typed goes with the page.
export function forgetDrafts(): void {
  drafts.clear();
  for (const each of listeners) each();
}

export function useHasDrafts(): boolean {
  return useSyncExternalStore(subscribe, hasDrafts);
}

// For every form: whether something in it would be lost now.
export function useUnsaved(isUnsaved: boolean): void {
  const ofDialog = useContext(DialogDrafts);
  useEffect(() => {
    if (!isUnsaved) return;
    const draft = {};
    const holders = ofDialog ? [drafts, ofDialog] : [drafts];
    for (const each of holders) each.add(draft);
    for (const each of listeners) each();
    return () => {
      for (const each of holders) each.delete(draft);
      for (const each of listeners) each();
    };
  }, [isUnsaved, ofDialog]);
}

// For what is typed outside of a form.
export function Unsaved({ isUnsaved }: { isUnsaved: boolean }): null {
  useUnsaved(isUnsaved);
  return null;
}

// For forms that nobody stores before they are sent: whatever is typed is unsaved until then.
export function useTyped(isSending: boolean): { onChange: () => void; forget: () => void } {
  const [isTyped, setTyped] = useState(false);
  useUnsaved(isTyped && !isSending);
  return { onChange: () => setTyped(true), forget: () => setTyped(false) };
}

interface Place {
  readonly pathname: string;
  readonly search: object;
}

// Whether a form of one place is gone at the next: with its page, its tab, or the type of what it makes.
// Other parameters, such as a filter or the range, leave it where it is.
export function isLeft(current: Place, next: Place): boolean {
  const isChanged = (name: string) => (current.search as Record<string, unknown>)[name] !== (next.search as Record<string, unknown>)[name];
  return current.pathname !== next.pathname || isChanged("tab") || (current.pathname.endsWith("/new") && isChanged("type"));
}
