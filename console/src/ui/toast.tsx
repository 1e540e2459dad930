// One toast for one action, however many rows it touched. `hold` makes a deletion that has not
// happened yet: the request is made when its time has passed, and never when the page is left.
import { useSyncExternalStore } from "react";
import { t } from "~/messages/ui";

export interface ToastAction {
  label: string;
  run: () => void | Promise<void>;
}

interface Toast {
  id: number;
  text: string;
  tone: "normal" | "bad";
  action: ToastAction | null;
}

const SHOWN_MAX = 3;
const SHOWN_MS = 10_000;
export const HOLD_MS = 8_000;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();
const held = new Map<number, () => void>();

function publish(next: readonly Toast[]): void {
  toasts = next.slice(-SHOWN_MAX);
  for (const listener of listeners) listener();
}

export function dismissToast(id: number): void {
  publish(toasts.filter((each) => each.id !== id));
}

export function showToast(
  text: string,
  options: { action?: ToastAction; tone?: "normal" | "bad"; shownMs?: number } = {},
): number {
  const id = ++lastId;
  publish([...toasts, { id, text, tone: options.tone ?? "normal", action: options.action ?? null }]);
  setTimeout(() => dismissToast(id), options.shownMs ?? SHOWN_MS);
  return id;
}

// What `z` undoes: the newest action that can still be undone.
export function newestAction(): ToastAction | null {
  return [...toasts].reverse().find((each) => each.action)?.action ?? null;
}

// Whatever it fails with is said: what was to be undone is not.
export function runAction(action: ToastAction | null): void {
  const report = (error: unknown) => void showToast(error instanceof Error ? error.message : String(error), { tone: "bad" });
  void (async () => action?.run())().catch(report);
}

export function hasHeld(): boolean {
  return held.size > 0;
}

// Whoever asked for it is no longer signed in: it is not sent in the name of somebody else.
export function dropHeld(): void {
  for (const cancel of [...held.values()]) cancel();
}

export function hold(text: string, request: () => Promise<void>, onCancel: () => void = () => {}): void {
  const cancel = () => {
    clearTimeout(timer);
    held.delete(id);
    dismissToast(id);
    onCancel();
  };
  const id = showToast(text, { action: { label: t("Undo"), run: cancel }, shownMs: HOLD_MS });
  const timer = setTimeout(() => {
    held.delete(id);
    request().catch((error: unknown) => {
      onCancel();
      showToast(error instanceof Error ? error.message : String(error), { tone: "bad" });
    });
  }, HOLD_MS);
  held.set(id, cancel);
}

if (typeof window !== "undefined")
  window.addEventListener("beforeunload", (event) => {
    if (hasHeld()) event.preventDefault();
  });

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <div key={toast.id} className={`toast toast-${toast.tone}`}>
          <span>{toast.text}</span>
          {toast.action && (
            <button
              type="button"
              className="toast-action"
              onClick={() => {
                const { action } = toast;
                dismissToast(toast.id);
                runAction(action);
              }}
            >
              {toast.action.label}
            </button>
          )}
          <button type="button" className="toast-close" aria-label={t("Dismiss")} onClick={() => dismissToast(toast.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
