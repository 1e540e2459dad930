// Views that somebody has saved: a name, and the search part of the address. They are kept in the browser.
import { preferences, setPreference } from "~/preferences";

export interface SavedView {
  readonly groupId: string;
  readonly name: string;
  readonly search: string;
}

const VIEWS_MAX = 100;

function isView(value: unknown): value is SavedView {
  const view = value as Partial<SavedView> | null;
  return typeof view === "object" && view !== null && [view.groupId, view.name, view.search].every((each) => typeof each === "string");
}

export function parseViews(text: string): SavedView[] {
  try {
    const found: unknown = JSON.parse(text || "[]");
    return Array.isArray(found) ? found.filter(isView) : [];
  } catch {
    return [];
  }
}

function isSame(one: SavedView, other: SavedView): boolean {
  return one.groupId === other.groupId && one.name === other.name;
}

// By name; one of the same name is replaced.
export function withView(views: readonly SavedView[], view: SavedView): SavedView[] {
  const others = views.filter((each) => !isSame(each, view));
  return [...others, view].sort((a, b) => a.name.localeCompare(b.name)).slice(0, VIEWS_MAX);
}

export function saveView(view: SavedView): void {
  setPreference("views", JSON.stringify(withView(parseViews(preferences().views), view)));
}

export function removeView(view: SavedView): void {
  setPreference("views", JSON.stringify(parseViews(preferences().views).filter((each) => !isSame(each, view))));
}
