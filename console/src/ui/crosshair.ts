// The moment under the crosshair: one for all charts of the page.
type Listener = (moment: number | null) => void;

const listeners = new Set<Listener>();
let current: number | null = null;

export function crosshair(): number | null {
  return current;
}

export function setCrosshair(moment: number | null): void {
  if (moment === current) return;
  current = moment;
  for (const listener of listeners) listener(moment);
}

export function onCrosshair(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
