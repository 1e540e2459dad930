// All groups that one can see, as a tree; each level is loaded when it is opened.
import "./groups.css";
import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import type { Schemas } from "~/api/client";
import { childGroupsQuery, groupSearchQuery, sessionQuery } from "~/api/queries";
import { SERVICE_URL } from "~/base-path";
import { Button } from "~/ui/button";
import { PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { Empty, NoMatch, QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { nameOr } from "~/ui/name";
import { NewGroup } from "./new-group";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/groups";

type TreeGroup = Schemas["TreeGroup"];
const route = getRouteApi("/frame/groups");

function count(value: number | null | undefined, noun: string): string {
  if (value === null || value === undefined) return "";
  return `${value.toLocaleString(LOCALE)} ${noun}${value === 1 ? "" : "s"}`;
}

function GroupRow({ group, depth }: { group: TreeGroup; depth: number }) {
  const [isOpen, setOpen] = useState(depth === 0);
  const name = nameOr(group.name, group.id);
  return (
    <li>
      <div className="groups-row">
        <span className="groups-name" style={{ paddingLeft: depth * 24 }}>
          {group.numberOfGroups > 0 ? (
            <button type="button" className="tree-toggle" aria-expanded={isOpen} aria-label={t("GroupsBelowName", { name })} onClick={() => setOpen(!isOpen)}>
              {isOpen ? "▾" : "▸"}
            </button>
          ) : (
            <span className="tree-toggle" />
          )}
          <Link to="/g/$groupId" params={{ groupId: group.id }}>
            {name}
          </Link>
          {group.deletionAt && (
            <Pill tone="bad">
              {t.rich("deletedOnTime", { time: <TimeText at={group.deletionAt} precision="minute" /> })}
            </Pill>
          )}
        </span>
        <span className="ink-2">{group.role?.name ?? ""}</span>
        <span className="number">{count(group.numberOfDevices, "device")}</span>
        <span className="number">{count(group.numberOfConnectors, "connector")}</span>
        <span className="groups-actions">
          <Link className="button button-quiet" to="/g/$groupId/settings" params={{ groupId: group.id }}>
            {t("Settings")}
          </Link>
        </span>
      </div>
      {isOpen && group.numberOfGroups > 0 && <Branch parentId={group.id} depth={depth + 1} />}
    </li>
  );
}

function Branch({ parentId, depth }: { parentId: string | null; depth: number }) {
  const query = useQuery(childGroupsQuery(parentId));
  return (
    <QueryView query={query} skeletonRows={2} noun={t("group3")}>
      {({ items, nextToken }) => (
        <ul>
          {items.map((group) => (
            <GroupRow key={group.id} group={group} depth={depth} />
          ))}
          {nextToken && <li className="groups-more ink-2">{t("ThereAreMoreFindThemBy")}</li>}
        </ul>
      )}
    </QueryView>
  );
}

function Found({ q, onClear }: { q: string; onClear: () => void }) {
  const query = useQuery(groupSearchQuery(q));
  return (
    <QueryView query={query} skeletonRows={3}>
      {({ items, nextToken }) =>
        items.length === 0 ? (
          <NoMatch chips={[{ label: t("nameQ", { q }), onRemove: onClear }]} onClear={onClear} />
        ) : (
          <ul className="card groups">
            {items.map((group) => (
              <GroupRow key={group.id} group={{ ...group, numberOfGroups: 0 }} depth={0} />
            ))}
            {nextToken && <li className="groups-more ink-2">{t("ThereAreMoreTypeMoreOf")}</li>}
          </ul>
        )
      }
    </QueryView>
  );
}

export function GroupsPage() {
  const { q } = route.useSearch();
  const navigate = useNavigate();
  const roots = useQuery(childGroupsQuery(null));
  const session = useQuery(sessionQuery);
  const [isCreating, setCreating] = useState(false);
  const setQ = (text: string) => void navigate({ to: "/groups", search: (before) => ({ ...before, q: text || undefined }), replace: true });
  const create = (
    <Button look="primary" onClick={() => setCreating(true)}>
      {t("NewGroup")}
    </Button>
  );
  return (
    <>
      <PageHeader title={t("Groups")} below={session.data?.isOperator ? t("AsOperatorYouSeeAllRoot") : undefined} actions={create} />
      <div className="filters">
        <input className="input search-box" type="search" placeholder={t("FindByName")} aria-label={t("FindByName")} value={q ?? ""} onChange={(event) => setQ(event.target.value)} />
      </div>
      {q ? (
        <Found q={q} onClear={() => setQ("")} />
      ) : (
        <QueryView query={roots}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty
                text={t("groupHoldsDevicesPeopleWhoMay")}
                action={create}
                curl={`curl -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "Harbour"}' \\
  "${SERVICE_URL}/group"`}
              />
            ) : (
              <div className="card groups">
                <Branch parentId={null} depth={0} />
              </div>
            )
          }
        </QueryView>
      )}
      {isCreating && <NewGroup parent={null} onClose={() => setCreating(false)} />}
    </>
  );
}
