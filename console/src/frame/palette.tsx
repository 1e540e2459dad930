// One field that finds everything: pages, settings, documents and what can be done at once; devices, groups,
// connectors and people a moment after the last letter; and an id that was pasted whole leads straight there.
// What the person may not do or see is not offered.
import { useEffect, useId, useMemo, useRef, useState, useSyncExternalStore, type KeyboardEvent } from "react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { mayCall, useRights, type Rights } from "~/api/may";
import { groupSearchQuery } from "~/api/queries";
import { BASE_PATH, CONSOLE_PATH } from "~/base-path";
import { setPreference } from "~/preferences";
import { signOut } from "~/session";
import { runWhenOffered, useOfferedActions, type PageAction } from "~/ui/actions";
import { Dialog } from "~/ui/dialog";
import { activeShortcuts, isCommand } from "~/ui/keys";
import { useSettled } from "~/ui/settled";
import { nameOr } from "~/ui/name";
import { idTarget, matchesWords, type IdTarget } from "./palette-target";
import { DOCUMENTS } from "./documents";
import { useGroupId, useScope } from "./page-state";
import { SECTIONS, maySee } from "./sections";
import { SETTINGS, VERBS, allowed, pathIn } from "./verbs";
import { t } from "~/messages/frame";

const PAUSE_MS = 150;
const FOUND_MAX = 8;
const PEOPLE_MAX = 200;

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
  // A path below /console, something to do, or both, one after the other.
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
  const pages = SECTIONS.filter((page) => maySee(page, groupId, rights)).map((page) => ({ label: page.label, path: page.to }));
  return [...pages, { label: t("Account"), path: "/account" }]
    .filter((page) => matchesWords(page.label, typed))
    .map((page) => ({ id: page.path, group: t("Pages"), label: page.label, path: pathIn(page.path, groupId) }));
}

// What the open page offers, such as for what is selected on it, before what can be begun anywhere.
function verbEntries(typed: string, groupId: string | null, rights: Rights, offeredHere: readonly PageAction[]): Entry[] {
  const here = offeredHere.map(({ id, label, run }) => ({ id, label, words: label, entry: { run } }));
  const offered = new Set(here.map((each) => each.id));
  const begun = allowed(VERBS, groupId, rights).flatMap((verb) => {
    const { action, label } = verb;
    if (action !== undefined && offered.has(action)) return [];
    const entry = { path: pathIn(verb.path, groupId), ...(action === undefined ? {} : { run: () => runWhenOffered(action) }) };
    return [{ id: `${label} ${verb.path}`, label, words: `${label} ${verb.also ?? ""}`, entry }];
  });
  return [...here, ...begun]
    .filter((each) => matchesWords(each.words, typed))
    .map(({ id, label, entry }) => ({ id, group: t("Do"), label, ...entry }));
}

function settingEntries(typed: string, groupId: string | null, rights: Rights): Entry[] {
  if (!typed.trim()) return [];
  return allowed(SETTINGS, groupId, rights)
    .filter((each) => matchesWords(`${each.label} ${each.also}`, typed))
    .map((each) => ({ id: each.label, group: t("Settings"), label: each.label, path: pathIn(each.path, groupId) }));
}

function documentEntries(typed: string): Entry[] {
  if (!typed.trim()) return [];
  return DOCUMENTS.filter((each) => matchesWords(each.title, typed))
    .slice(0, FOUND_MAX)
    .map(({ title, path }) => ({ id: `guide ${path}`, group: t("Documents"), label: title, run: () => void window.open(`${BASE_PATH}/guide/${path}`, "_blank", "noopener") }));
}

function actionEntries(typed: string, scope: ReturnType<typeof useScope>): Entry[] {
  const { withBelow, setWithBelow } = scope;
  const own: Entry[] = [
    { id: "scope", group: t("Actions"), label: withBelow ? t("ShowOnlyThisGroupWithoutGroups") : t("ShowThisGroupWithGroupsBelow"), run: () => setWithBelow(!withBelow) },
    { id: "light", group: t("Actions"), label: t("UseLightTheme"), run: () => setPreference("theme", "light") },
    { id: "dark", group: t("Actions"), label: t("UseDarkTheme"), run: () => setPreference("theme", "dark") },
    { id: "guide", group: t("Actions"), label: t("OpenDocumentation"), run: () => void window.open(`${BASE_PATH}/guide/`, "_blank", "noopener") },
    { id: "out", group: t("Actions"), label: t("SignOut"), run: () => void signOut() },
  ];
  const ofPage = activeShortcuts()
    .filter((each) => each.key !== "/" && each.key !== "g" && !each.label.startsWith("g "))
    .map((each) => ({ id: `key ${each.key}`, group: t("Actions"), label: each.label, note: each.key, run: each.run }));
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
    queryFn: ({ signal }) => read(api.GET("/connector/connectors", { params: { query: { groupId: groupId ?? "", subgroups: true, limit: 200 } }, signal })),
    enabled: q.length > 0 && groupId !== null && mayCall(rights, "GET /connector/connectors"),
    staleTime: 60_000,
  });
  const mayFindPeople = groupId !== null && mayCall(rights, "GET /group/users");
  const people = useQuery({
    queryKey: ["palette-people", groupId],
    queryFn: ({ signal }) => read(api.GET("/group/users", { params: { query: { groupId: groupId ?? "", limit: PEOPLE_MAX } }, signal })),
    enabled: q.length > 0 && mayFindPeople,
    staleTime: 60_000,
  });
  const entries: Entry[] = q
    ? [
        ...(mayFindDevices ? (devices.data?.items ?? []) : []).map((device) => ({
          id: device.deviceId,
          group: t("Devices"),
          label: device.name,
          note: device.originalId,
          path: `/d/${device.deviceId}`,
        })),
        ...(groups.data?.items ?? []).slice(0, FOUND_MAX).map((group) => ({
          id: group.id,
          group: t("Groups"),
          label: nameOr(group.name, group.id),
          path: `/g/${group.id}`,
        })),
        ...(connectors.data?.test ?? [])
          .filter((connector) => matchesWords(connector.name ?? "", q))
          .slice(0, FOUND_MAX)
          .map((connector) => ({
            id: connector.id,
            group: t("Connectors"),
            label: nameOr(connector.name, connector.id),
            note: connector.type,
            path: `/g/${connector.groupId}/connectors/${connector.id}`,
          })),
        ...(mayFindPeople ? (people.data?.items ?? []) : [])
          .filter((person) => matchesWords(`${person.name ?? ""} ${person.email ?? ""}`, q))
          .slice(0, FOUND_MAX)
          .map((person) => ({
            id: `person ${person.id}`,
            group: t("People"),
            label: person.name ?? person.email ?? "",
            note: person.email ?? "",
            path: `/g/${groupId}/people?person=${person.id}`,
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
  const scope = useScope();
  const offered = useOfferedActions();
  const found = useFound(typed, groupId, rights);
  const target = idTarget(typed);
  const path = target && pathOf(target, groupId);
  const entries = [
    ...(target && path ? [{ id: "pasted", group: t("ById"), label: t("OpenThisKind", { kind: target.kind }), note: target.id, path }] : []),
    ...(typed.trim() ? verbEntries(typed, groupId, rights, offered) : []),
    ...found.entries,
    ...pageEntries(typed, groupId, rights),
    ...settingEntries(typed, groupId, rights),
    ...(typed.trim() ? [] : verbEntries(typed, groupId, rights, offered)),
    ...documentEntries(typed),
    ...actionEntries(typed, scope),
  ];
  return { entries, isAsking: found.isAsking };
}

function Options({ entries, chosen, listId, onRun }: { entries: readonly Entry[]; chosen: number; listId: string; onRun: (entry: Entry, isNewTab: boolean) => void }) {
  const groups = useMemo(() => [...new Set(entries.map((entry) => entry.group))], [entries]);
  return (
    <div id={listId} role="listbox" aria-label={t("WhatWasFound")} className="palette-list">
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
  // With what of the address all pages share.
  const go = (path: string) => {
    const [to = "", search = ""] = path.split("?");
    void router.navigate({ to, search: Object.fromEntries(new URLSearchParams(search)) } as never);
  };
  const run = (entry: Entry, isNewTab: boolean) => {
    onClose();
    if (entry.path && isNewTab) return void window.open(CONSOLE_PATH + entry.path, "_blank");
    // A page that is open already offers its actions at once.
    entry.run?.();
    if (entry.path) go(entry.path);
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
    <Dialog title={t("Find")} onClose={onClose}>
      <input
        ref={field}
        className="input"
        role="combobox"
        aria-label={t("FindDeviceGroupConnectorPersonSetting")}
        aria-expanded={entries.length > 0}
        aria-controls={listId}
        aria-activedescendant={entries.length > 0 ? `${listId}-${at}` : undefined}
        autoComplete="off"
        placeholder={t("nameIdOrWhatToDo")}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <Options entries={entries} chosen={at} listId={listId} onRun={run} />
      {entries.length === 0 && <p className="ink-2">{isAsking ? t("Looking") : t("NothingHasThisNameOrId")}</p>}
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
