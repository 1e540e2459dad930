// Theme, density, language, time zone, keys, the last group and saved views: the only things that are kept in the
// browser's storage. Readable without React, so that charts and the map follow a change too.
import { useSyncExternalStore } from "react";
import { BASE_PATH } from "./base-path";

export interface Preferences {
  readonly theme: "system" | "light" | "dark";
  readonly density: "normal" | "dense";
  // `en`, `de` or `fr`; empty for the first language of the browser that the console has.
  readonly language: string;
  // An IANA name, or empty for the browser's own zone.
  readonly zone: string;
  readonly keys: "on" | "off";
  // Whether the sections at the side have their names.
  readonly side: "wide" | "narrow";
  // Whether pages of a group show what the groups below it have, too.
  readonly scope: "below" | "own";
  readonly lastGroup: string;
  // What Explore shows by a name, as JSON.
  readonly views: string;
}

const DEFAULTS: Preferences = { theme: "system", density: "normal", language: "", zone: "", keys: "on", side: "wide", scope: "below", lastGroup: "", views: "" };
const OF_THIS_SERVICE: readonly (keyof Preferences)[] = ["lastGroup", "views"];
// Services below other paths of this host have other groups, and other views of them.
const keyOf = (name: keyof Preferences) => `longwire.${name}${OF_THIS_SERVICE.includes(name) ? BASE_PATH : ""}`;
const listeners = new Set<() => void>();
let current: Preferences = load();

function load(): Preferences {
  const loaded: Record<string, string> = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS) as (keyof Preferences)[]) {
    try {
      loaded[name] = localStorage.getItem(keyOf(name)) ?? loaded[name] ?? "";
    } catch {
      // Storage may be denied; preferences then last as long as the page.
    }
  }
  return loaded as unknown as Preferences;
}

export function preferences(): Preferences {
  return current;
}

export function setPreference<K extends keyof Preferences>(name: K, value: Preferences[K]): void {
  if (current[name] === value) return;
  current = { ...current, [name]: value };
  try {
    localStorage.setItem(keyOf(name), value);
  } catch {
    // See load.
  }
  applyPreferences();
  for (const listener of listeners) listener();
}

// Of a page that is part of another one, whose colours it has; kept nowhere.
export function showTheme(theme: Preferences["theme"]): void {
  current = { ...current, theme };
  applyPreferences();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, preferences, preferences);
}

const systemIsDark = typeof matchMedia === "undefined" ? null : matchMedia("(prefers-color-scheme: dark)");

export function themeInUse(): "light" | "dark" {
  if (current.theme !== "system") return current.theme;
  return systemIsDark?.matches ? "dark" : "light";
}

// Also of a system that becomes dark in the evening.
export function useThemeInUse(): "light" | "dark" {
  return useSyncExternalStore(subscribe, themeInUse, themeInUse);
}

export function applyPreferences(): void {
  if (typeof document === "undefined") return;
  document.documentElement.dataset.theme = themeInUse();
  document.documentElement.dataset.density = current.density;
}

systemIsDark?.addEventListener("change", () => {
  applyPreferences();
  for (const listener of listeners) listener();
});
