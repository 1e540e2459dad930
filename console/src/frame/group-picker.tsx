// The group that is looked at. Choosing another one keeps the section.
import { useState } from "react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useLocation, useNavigate } from "@tanstack/react-router";
import type { Schemas } from "~/api/client";
import { childGroupsQuery, groupQuery, groupSearchQuery } from "~/api/queries";
import { Popover } from "~/ui/menu";
import { nameOr } from "~/ui/name";

type TreeGroup = Schemas["TreeGroup"];

function Branch({ parentId, depth, onChoose }: { parentId: string | null; depth: number; onChoose: (id: string) => void }) {
  const children = useQuery(childGroupsQuery(parentId));
  if (!children.data) return null;
  return (
    <ul className="tree">
      {children.data.items.map((group) => (
        <Twig key={group.id} group={group} depth={depth} onChoose={onChoose} />
      ))}
      {children.data.nextToken && <li className="ink-3">More: search by name.</li>}
    </ul>
  );
}

function Twig({ group, depth, onChoose }: { group: TreeGroup; depth: number; onChoose: (id: string) => void }) {
  const [isOpen, setOpen] = useState(false);
  const name = nameOr(group.name, group.id);
  return (
    <li>
      <div className="tree-row">
        {group.numberOfGroups > 0 ? (
          <button type="button" className="tree-toggle" aria-expanded={isOpen} aria-label={`Groups below ${name}`} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "▾" : "▸"}
          </button>
        ) : (
          <span className="tree-toggle" />
        )}
        <button type="button" className="menu-item" onClick={() => onChoose(group.id)}>
          {name}
          {group.numberOfDevices ? <span className="ink-3"> {group.numberOfDevices.toLocaleString("en")}</span> : null}
        </button>
      </div>
      {isOpen && <Branch parentId={group.id} depth={depth + 1} onChoose={onChoose} />}
    </li>
  );
}

// It says nothing until there is an answer, and keeps one until there is the next.
function FoundGroups({ q, onChoose }: { q: string; onChoose: (id: string) => void }) {
  const found = useQuery({ ...groupSearchQuery(q), placeholderData: keepPreviousData });
  if (found.isPending) return null;
  const isNone = found.data?.items.length === 0 && !found.isPlaceholderData;
  return (
    <div className="tree-found">
      <ul className="tree">
        {found.data?.items.map((group) => (
          <li key={group.id}>
            <button type="button" className="menu-item" onClick={() => onChoose(group.id)}>
              {nameOr(group.name, group.id)}
            </button>
          </li>
        ))}
      </ul>
      <p role="status" className="ink-3">
        {found.isError ? found.error.message : isNone ? "No group has this name." : ""}
      </p>
    </div>
  );
}

export function GroupTree({ onChoose }: { onChoose: (id: string) => void }) {
  const [text, setText] = useState("");
  const q = text.trim();
  return (
    <div className="group-tree">
      <input className="input" type="search" placeholder="Find a group" aria-label="Find a group" value={text} onChange={(event) => setText(event.target.value)} />
      {q && <FoundGroups q={q} onChoose={onChoose} />}
      <div className="tree-all">
        <Branch parentId={null} depth={0} onChoose={onChoose} />
      </div>
    </div>
  );
}

export function GroupPicker({ groupId }: { groupId: string | null }) {
  const group = useQuery({ ...groupQuery(groupId ?? ""), enabled: groupId !== null });
  const navigate = useNavigate();
  const location = useLocation();
  const choose = (id: string) => {
    const section = /^\/g\/[^/]+\/([a-z]+)/.exec(location.pathname)?.[1] ?? "overview";
    void navigate({ to: `/g/$groupId/${section}`, params: { groupId: id } } as never);
  };
  return (
    <Popover
      className="group-picker"
      label={
        <span className="group-picker-label">
          <small>
            Group <span aria-hidden="true">⌄</span>
          </small>
          <span>{group.data ? nameOr(group.data.name, group.data.id) : groupId && !group.isError ? "…" : "Choose a group"}</span>
        </span>
      }
    >
      {(close) => (
        <GroupTree
          onChoose={(id) => {
            close();
            choose(id);
          }}
        />
      )}
    </Popover>
  );
}
