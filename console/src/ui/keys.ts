// Single keys as shortcuts: not while somebody types, not with a modifier, and not when switched
// off in the account (WCAG 2.1.4).
import { useEffect, useRef } from "react";
import { preferences } from "~/preferences";
import { t } from "~/messages/ui";

// The key that goes with a letter or Enter, as it is named on the keyboard of this machine.
export const COMMAND = typeof navigator !== "undefined" && /Mac|iP(hone|ad)/.test(navigator.platform) ? "⌘" : t("Ctrl");

type Modified = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey">;

// Either modifier on every machine: remote desktops send the one that the other end has.
export function isCommand(event: Modified, key: string): boolean {
  return event.key.toLowerCase() === key.toLowerCase() && (event.ctrlKey || event.metaKey);
}

// Ctrl Enter in a form presses the button that sends it, which knows when it cannot be pressed.
export function sendByKeys(event: Modified & { currentTarget: HTMLFormElement }): void {
  if (!isCommand(event, "Enter")) return;
  const button = [...event.currentTarget.elements].find((each) => each instanceof HTMLButtonElement && each.type === "submit");
  (button as HTMLButtonElement | undefined)?.click();
}

const TYPING = "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]";

export function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(TYPING) !== null;
}

export function isShortcut(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return false;
  return event.key.length > 1 || preferences().keys === "on";
}

// A page's own shortcuts, by key; the list is shown by `?`.
export interface Shortcut {
  key: string;
  label: string;
  run: () => void;
}

const active = new Set<{ readonly current: readonly Shortcut[] }>();

export function activeShortcuts(): readonly Shortcut[] {
  return [...active].flatMap((each) => each.current);
}

export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const current = useRef(shortcuts);
  current.current = shortcuts;
  useEffect(() => {
    active.add(current);
    const onKeyDown = (event: KeyboardEvent) => {
      if (!isShortcut(event)) return;
      const found = current.current.find((each) => each.key === event.key);
      if (!found || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      found.run();
    };
    window.addEventListener("keydown", onKeyDown);
    return () => {
      active.delete(current);
      window.removeEventListener("keydown", onKeyDown);
    };
  }, []);
}
