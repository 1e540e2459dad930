// One field that finds everything: pages and actions at once, devices, groups and connectors a
// moment after the last letter, and an id that was pasted whole leads straight there.
import { useEffect, useId, useMemo, useRef, useState, useSyncExternalStore, type KeyboardEvent } from "react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { mayCall, useRights, type Rights } from "~/api/may";
import { groupSearchQuery, sessionQuery } from "~/api/queries";
import { BASE_PATH, CONSOLE_PATH } from "~/base-path";
import { setPreference } from "~/preferences";
import { signOut } from "~/session";
import { Dialog } from "~/ui/dialog";
import { activeShortcuts, isCommand } from "~/ui/keys";
import { useSettled } from "~/ui/settled";
import { nameOr } from "~/ui/name";
import { idTarget, matchesWords, type IdTarget } from "./palette-target";
import { useGroupId } from "./page-state";
import { MANAGE, SECTIONS } from "./sections";

const PAUSE_MS = 150;
const FOUND_MAX = 8;

let isShown = false;
const listeners = new Set<() => void>();

function show(next: boolean): void {
  isShown = next;
  for (const listener of listeners) listener();
}

export function openPalette(): void {
  show(true);
}

interface Entry {
  id: string;
  group: string;
  label: string;
  note?: string;
  // A path below /console, or something to do.
  path?: string;
  run?: () => void;
}

function pathOf(target: IdTarget, groupId: string | null): string | null {
  switch (target.kind) {
    case "device":
      return `/d/${target.id}`;
    case "message":
      return `/m/${target.id}`;
    case "record":
      return `/r/${target.id}`;
    case "group":
      return `/g/${target.id}`;
    case "connector":
      return groupId && `/g/${groupId}/connectors/${target.id}`;
    case "notification":
      return groupId && `/g/${groupId}/notifications/${target.id}`;
    case "contact point":
      return groupId && `/g/${groupId}/contact-points/${target.id}`;
    case "report":
      return groupId && `/g/${groupId}/reports/${target.id}`;
    case "job":
      return groupId && `/g/${groupId}/jobs/${target.id}`;
  }
}

function pageEntries(typed: string, groupId: string | null, rights: Rights): Entry[] {
  const pages = [...SECTIONS, ...MANAGE, { to: "/account", label: "Account" }, ...(rights.isOperator ? [{ to: "/platform", label: "Platform" }] : [])];
  return pages
    .filter((page) => !("needs" in page) || !page.needs || mayCall(rights, page.needs))
    .filter((page) => groupId !== null || !page.to.includes("$groupId"))
    .filter((page) => matchesWords(page.label, typed))
    .map((page) => ({ id: page.to, group: "Pages", label: page.label, path: page.to.replace("$groupId", groupId ?? "") }));
}

function actionEntries(typed: string): Entry[] {
  const own: Entry[] = [
    { id: "light", group: "Actions", label: "Use the light theme", run: () => setPreference("theme", "light") },
    { id: "dark", group: "Actions", label: "Use the dark theme", run: () => setPreference("theme", "dark") },
    { id: "guide", group: "Actions", label: "Open the documentation", run: () => void window.open(`${BASE_PATH}/guide/`, "_blank", "noopener") },
    { id: "out", group: "Actions", label: "Sign out", run: () => void signOut() },
  ];
  const ofPage = activeShortcuts()
    .filter((each) => each.key !== "/" && each.key !== "g" && !each.label.startsWith("g "))
    .map((each) => ({ id: `key ${each.key}`, group: "Actions", label: each.label, note: each.key, run: each.run }));
  return typed ? [...ofPage, ...own].filter((each) => matchesWords(each.label, typed)) : [];
}

function useFound(typed: string, groupId: string | null, rights: Rights): { entries: Entry[]; isAsking: boolean } {
  const q = useSettled(typed.trim(), PAUSE_MS);
  const mayFindDevices = groupId !== null && mayCall(rights, "GET /devices");
  const devices = useQuery({
    queryKey: ["palette-devices", groupId, q],
    queryFn: ({ signal }) =>
      read(api.GET("/devices", { params: { query: { groupId: groupId ?? "", subgroups: true, q, limit: FOUND_MAX } }, signal })),
    enabled: q.length > 0 && mayFindDevices,
    placeholderData: keepPreviousData,
  });
  const groups = useQuery({ ...groupSearchQuery(q), placeholderData: keepPreviousData });
  const connectors = useQuery({
    queryKey: ["palette-connectors", groupId],
    queryFn: ({ signal }) => read(api.GET("/connector/connectors", { params: { query: { groupId: groupId ?? "", limit: 200 } }, signal })),
    enabled: q.length > 0 && groupId !== null && mayCall(rights, "GET /connector/connectors"),
    staleTime: 60_000,
  });
  const entries: Entry[] = q
    ? [
        ...(mayFindDevices ? (devices.data?.items ?? []) : []).map((device) => ({
          id: device.deviceId,
          group: "Devices",
          label: device.name,
          note: device.originalId,
          path: `/d/${device.deviceId}`,
        })),
        ...(groups.data?.items ?? []).slice(0, FOUND_MAX).map((group) => ({
          id: group.id,
          group: "Groups",
          label: nameOr(group.name, group.id),
          path: `/g/${group.id}`,
        })),
        ...(connectors.data?.test ?? [])
          .filter((connector) => matchesWords(connector.name ?? "", q))
          .slice(0, FOUND_MAX)
          .map((connector) => ({
            id: connector.id,
            group: "Connectors",
            label: nameOr(connector.name, connector.id),
            note: connector.type,
            path: `/g/${connector.groupId}/connectors/${connector.id}`,
          })),
      ]
    : [];
  // What was found for an earlier text is shown only as far as it fits this one: Enter takes the first.
  const isEarlier = q !== typed.trim() || devices.isPlaceholderData || groups.isPlaceholderData;
  const fitting = isEarlier ? entries.filter((each) => `${each.label} ${each.note ?? ""}`.toLowerCase().includes(typed.trim().toLowerCase())) : entries;
  return { entries: fitting, isAsking: devices.isFetching || groups.isFetching || q !== typed.trim() };
}

function useEntries(typed: string): { entries: Entry[]; isAsking: boolean } {
  const groupId = useGroupId();
  const rights = useRights(groupId);
  const { data: session } = useQuery(sessionQuery);
  const found = useFound(typed, groupId, rights);
  const target = idTarget(typed);
  const path = target && pathOf(target, groupId);
  const entries = [
    ...(target && path ? [{ id: "pasted", group: "By id", label: `Open this ${target.kind}`, note: target.id, path }] : []),
    ...found.entries,
    ...pageEntries(typed, groupId, { ...rights, isOperator: session?.isOperator ?? false }),
    ...actionEntries(typed),
  ];
  return { entries, isAsking: found.isAsking };
}

function Options({ entries, chosen, listId, onRun }: { entries: readonly Entry[]; chosen: number; listId: string; onRun: (entry: Entry, isNewTab: boolean) => void }) {
  const groups = useMemo(() => [...new Set(entries.map((entry) => entry.group))], [entries]);
  return (
    <div id={listId} role="listbox" aria-label="What was found" className="palette-list">
      {groups.map((group) => (
        <div key={group} role="group" aria-label={group}>
          <div className="palette-group" aria-hidden="true">
            {group}
          </div>
          {entries.map((entry, index) =>
            entry.group === group ? (
              <div
                key={entry.id}
                id={`${listId}-${index}`}
                role="option"
                aria-selected={index === chosen}
                className="palette-option"
                onMouseDown={(event) => event.preventDefault()}
                onClick={(event) => onRun(entry, event.ctrlKey || event.metaKey)}
              >
                <span>{entry.label}</span>
                {entry.note && <code className="ink-3">{entry.note}</code>}
              </div>
            ) : null,
          )}
        </div>
      ))}
    </div>
  );
}

function PaletteDialog({ onClose }: { onClose: () => void }) {
  const router = useRouter();
  const [typed, setTyped] = useState("");
  const [chosen, setChosen] = useState(0);
  const { entries, isAsking } = useEntries(typed);
  const listId = useId();
  const field = useRef<HTMLInputElement>(null);
  const at = Math.min(chosen, Math.max(0, entries.length - 1));
  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    document.getElementById(`${listId}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at, listId]);
  const run = (entry: Entry, isNewTab: boolean) => {
    onClose();
    if (entry.path && isNewTab) window.open(CONSOLE_PATH + entry.path, "_blank");
    else if (entry.path) router.history.push(CONSOLE_PATH + entry.path);
    else entry.run?.();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const entry = entries[at];
    if (step !== undefined && entries.length > 0) {
      event.preventDefault();
      setChosen((at + step + entries.length) % entries.length);
    } else if (event.key === "Enter" && entry) {
      event.preventDefault();
      run(entry, event.ctrlKey || event.metaKey);
    }
  };
  return (
    <Dialog title="Find" onClose={onClose}>
      <input
        ref={field}
        className="input"
        role="combobox"
        aria-label="Find a device, group, connector, delivery or page"
        aria-expanded={entries.length > 0}
        aria-controls={listId}
        aria-activedescendant={entries.length > 0 ? `${listId}-${at}` : undefined}
        autoComplete="off"
        placeholder="A name, an original id, or any id pasted whole"
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <Options entries={entries} chosen={at} listId={listId} onRun={run} />
      {entries.length === 0 && <p className="ink-2">{isAsking ? "Looking…" : "Nothing has this name or id."}</p>}
    </Dialog>
  );
}

export function Palette() {
  const isOpen = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isShown,
  );
  useEffect(() => {
    const onKeyDown = (event: globalThis.KeyboardEvent) => {
      if (!isCommand(event, "k")) return;
      event.preventDefault();
      show(true);
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
  return isOpen ? <PaletteDialog onClose={() => show(false)} /> : null;
}
