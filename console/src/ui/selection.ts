// Rows that are selected, by key: it survives scrolling, paging and a changed sort. "All that
// match" is a selection by filter, whatever is loaded.
import { useCallback, useMemo, useState } from "react";

export type Selection = { readonly mode: "keys"; readonly keys: ReadonlySet<string> } | { readonly mode: "all"; readonly total: number };

export const NOTHING: Selection = { mode: "keys", keys: new Set() };

export function selectedCount(selection: Selection): number {
  return selection.mode === "all" ? selection.total : selection.keys.size;
}

export function isSelected(selection: Selection, key: string): boolean {
  return selection.mode === "all" || selection.keys.has(key);
}

export function toggleKey(selection: Selection, key: string, loaded: readonly string[]): Selection {
  const keys = new Set(selection.mode === "all" ? loaded : selection.keys);
  if (!keys.delete(key)) keys.add(key);
  return { mode: "keys", keys };
}

// From the row that was touched last to this one, in the order of the screen.
export function extendTo(selection: Selection, anchor: string | null, key: string, loaded: readonly string[]): Selection {
  const from = anchor === null ? -1 : loaded.indexOf(anchor);
  const to = loaded.indexOf(key);
  if (from < 0 || to < 0) return toggleKey(selection, key, loaded);
  const keys = new Set(selection.mode === "all" ? loaded : selection.keys);
  for (const each of loaded.slice(Math.min(from, to), Math.max(from, to) + 1)) keys.add(each);
  return { mode: "keys", keys };
}

export interface SelectionState {
  selection: Selection;
  count: number;
  has: (key: string) => boolean;
  toggle: (key: string, loaded: readonly string[]) => void;
  extend: (key: string, loaded: readonly string[]) => void;
  setKeys: (keys: Iterable<string>) => void;
  selectAll: (total: number) => void;
  clear: () => void;
}

export function useSelection(): SelectionState {
  const [state, setState] = useState<{ selection: Selection; anchor: string | null }>({ selection: NOTHING, anchor: null });
  const toggle = useCallback(
    (key: string, loaded: readonly string[]) =>
      setState(({ selection }) => ({ selection: toggleKey(selection, key, loaded), anchor: key })),
    [],
  );
  const extend = useCallback(
    (key: string, loaded: readonly string[]) =>
      setState(({ selection, anchor }) => ({ selection: extendTo(selection, anchor, key, loaded), anchor: key })),
    [],
  );
  const setKeys = useCallback(
    (keys: Iterable<string>) => setState({ selection: { mode: "keys", keys: new Set(keys) }, anchor: null }),
    [],
  );
  const selectAll = useCallback((total: number) => setState({ selection: { mode: "all", total }, anchor: null }), []);
  const clear = useCallback(() => setState({ selection: NOTHING, anchor: null }), []);
  return useMemo(
    () => ({
      selection: state.selection,
      count: selectedCount(state.selection),
      has: (key: string) => isSelected(state.selection, key),
      toggle,
      extend,
      setKeys,
      selectAll,
      clear,
    }),
    [state, toggle, extend, setKeys, selectAll, clear],
  );
}
