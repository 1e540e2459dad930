// The group that is looked at, and whether those below it count. Choosing another one keeps the section.
import { createContext, useContext, useEffect, useRef, useState } from "react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useLocation, useNavigate } from "@tanstack/react-router";
import type { Schemas } from "~/api/client";
import { childGroupsQuery, groupQuery, groupSearchQuery, groupsAboveQuery } from "~/api/queries";
import { Popover } from "~/ui/menu";
import { nameOr } from "~/ui/name";
import { useHasGroupsBelow } from "./group-name";
import { Icon } from "./icons";
import { useScope } from "./page-state";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/frame";

type TreeGroup = Schemas["TreeGroup"];

// Which group is chosen, and those above it, which are open from the beginning.
interface Place {
  readonly chosen: string | null;
  readonly above: readonly string[];
}

const PlaceContext = createContext<Place>({ chosen: null, above: [] });

function Branch({ parentId, onChoose }: { parentId: string | null; onChoose: (id: string) => void }) {
  const children = useQuery(childGroupsQuery(parentId));
  if (!children.data) return null;
  return (
    <ul className="tree">
      {children.data.items.map((group) => (
        <Twig key={group.id} group={group} onChoose={onChoose} />
      ))}
      {children.data.nextToken && <li className="ink-3">{t("MoreSearchByName")}</li>}
    </ul>
  );
}

function Twig({ group, onChoose }: { group: TreeGroup; onChoose: (id: string) => void }) {
  const { chosen, above } = useContext(PlaceContext);
  const isChosen = group.id === chosen;
  const [isOpen, setOpen] = useState(isChosen || above.includes(group.id));
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isChosen) row.current?.scrollIntoView({ block: "nearest" });
  }, [isChosen]);
  const name = nameOr(group.name, group.id);
  return (
    <li>
      <div ref={row} className="tree-row">
        {group.numberOfGroups > 0 ? (
          <button type="button" className="tree-toggle" aria-expanded={isOpen} aria-label={t("GroupsBelowName", { name })} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "▾" : "▸"}
          </button>
        ) : (
          <span className="tree-toggle" />
        )}
        <button type="button" className="menu-item" aria-current={isChosen || undefined} onClick={() => onChoose(group.id)}>
          {name}
          {group.numberOfDevices ? <span className="ink-3"> {group.numberOfDevices.toLocaleString(LOCALE)}</span> : null}
        </button>
      </div>
      {isOpen && <Branch parentId={group.id} onChoose={onChoose} />}
    </li>
  );
}

// Nothing of a group that one does not see.
function ParentName({ groupId }: { groupId: string }) {
  const parent = useQuery({ ...groupQuery(groupId), retry: false });
  return parent.data ? <span className="ink-3">{" "}{t("inName", { name: nameOr(parent.data.name, groupId) })}</span> : null;
}

// It says nothing until there is an answer, and keeps one until there is the next.
function FoundGroups({ q, onChoose }: { q: string; onChoose: (id: string) => void }) {
  const found = useQuery({ ...groupSearchQuery(q), placeholderData: keepPreviousData });
  const { chosen } = useContext(PlaceContext);
  if (found.isPending) return null;
  const isNone = found.data?.items.length === 0 && !found.isPlaceholderData;
  return (
    <div className="tree-found">
      <ul className="tree">
        {found.data?.items.map((group) => (
          <li key={group.id}>
            <button type="button" className="menu-item" aria-current={group.id === chosen || undefined} onClick={() => onChoose(group.id)}>
              {nameOr(group.name, group.id)}
              {group.parent && <ParentName groupId={group.parent} />}
            </button>
          </li>
        ))}
      </ul>
      <p role="status" className="ink-3">
        {found.isError ? found.error.message : isNone ? t("NoGroupHasThisName") : ""}
      </p>
    </div>
  );
}

export function GroupTree({ chosen = null, onChoose }: { chosen?: string | null; onChoose: (id: string) => void }) {
  const [text, setText] = useState("");
  const q = text.trim();
  const above = useQuery({ ...groupsAboveQuery(chosen ?? ""), enabled: chosen !== null });
  // What is open is decided when the tree is first drawn.
  const isReady = chosen === null || !above.isPending;
  return (
    <PlaceContext.Provider value={{ chosen, above: above.data ?? [] }}>
      <div className="group-tree">
        <input className="input" type="search" placeholder={t("FindGroup")} aria-label={t("FindGroup")} value={text} onChange={(event) => setText(event.target.value)} />
        {q && <FoundGroups q={q} onChoose={onChoose} />}
        <div className="tree-all">{isReady && <Branch parentId={null} onChoose={onChoose} />}</div>
      </div>
    </PlaceContext.Provider>
  );
}

// Where there are groups below: whether all pages and counts have what is in them, too.
export function ScopeSwitch({ groupId }: { groupId: string | null }) {
  const { withBelow, setWithBelow } = useScope();
  const hasBelow = useHasGroupsBelow(groupId);
  if (!hasBelow) return null;
  return (
    <label className="scope-switch">
      <input type="checkbox" role="switch" checked={withBelow} onChange={(event) => setWithBelow(event.target.checked)} />
      <span>{t("WithGroupsBelow")}</span>
    </label>
  );
}

// `isNarrow`: there is no room for the switch beside it, so it is inside.
export function GroupPicker({ groupId, isNarrow }: { groupId: string | null; isNarrow: boolean }) {
  const group = useQuery({ ...groupQuery(groupId ?? ""), enabled: groupId !== null });
  const navigate = useNavigate();
  const location = useLocation();
  const choose = (id: string) => {
    const section = /^\/g\/[^/]+\/([a-z-]+)/.exec(location.pathname)?.[1] ?? "overview";
    void navigate({ to: `/g/$groupId/${section}`, params: { groupId: id } } as never);
  };
  const name = group.data ? nameOr(group.data.name, group.data.id) : groupId && !group.isError ? "…" : t("ChooseGroup");
  return (
    <Popover
      className="group-picker"
      {...(isNarrow ? { title: name } : {})}
      label={
        <>
          <Icon name="groups" />
          <span className="group-picker-label">
            <small>
              {t.rich("GroupPart", { part: <span aria-hidden="true">⌄</span> })}
            </small>
            <span>{name}</span>
          </span>
        </>
      }
    >
      {(close) => (
        <>
          {isNarrow && <ScopeSwitch groupId={groupId} />}
          <GroupTree
            chosen={groupId}
            onChoose={(id) => {
              close();
              choose(id);
            }}
          />
        </>
      )}
    </Popover>
  );
}
