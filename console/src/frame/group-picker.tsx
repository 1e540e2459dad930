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

export function GroupTree({ onChoose }: { onChoose: (id: string) => void }) {
  const [q, setQ] = useState("");
  // The tree, or what was found before, stays until there is something else.
  const found = useQuery({ ...groupSearchQuery(q.trim()), placeholderData: keepPreviousData });
  return (
    <div className="group-tree">
      <input className="input" type="search" placeholder="Find a group" aria-label="Find a group" value={q} onChange={(event) => setQ(event.target.value)} />
      {q.trim() && !found.isPending ? (
        <ul className="tree">
          {found.isError && <li className="ink-3">{found.error.message}</li>}
          {found.data?.items.map((group) => (
            <li key={group.id}>
              <button type="button" className="menu-item" onClick={() => onChoose(group.id)}>
                {nameOr(group.name, group.id)}
              </button>
            </li>
          ))}
          {found.data?.items.length === 0 && <li className="ink-3">No group has this name.</li>}
        </ul>
      ) : (
        <Branch parentId={null} depth={0} onChoose={onChoose} />
      )}
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
