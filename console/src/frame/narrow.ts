// Whether there is no room for sections at the side.
import { useSyncExternalStore } from "react";

const query = typeof matchMedia === "undefined" ? null : matchMedia("(max-width: 900px)");

function subscribe(listener: () => void): () => void {
  query?.addEventListener("change", listener);
  return () => query?.removeEventListener("change", listener);
}

export function useHasNoSide(): boolean {
  return useSyncExternalStore(subscribe, () => query?.matches ?? false);
}
