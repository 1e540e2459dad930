// Recipients with a name, for several notifications.
import { useMemo } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { SERVICE_URL } from "~/base-path";
import { GroupName } from "~/frame/group-name";
import { useScope } from "~/frame/page-state";
import { notificationsQuery } from "~/pages/notifications/queries";
import { ListPage } from "~/ui/list-page";
import { Pill } from "~/ui/pill";
import type { Column } from "~/ui/table";
import { TimeText } from "~/ui/time-text";
import { nameOr } from "~/ui/name";
import { contactPointTypesQuery, contactPointsBelowQuery, contactPointsQuery, useContactPoints, type ContactPoint } from "./queries";
import { contactWords, usersOf, type User } from "./words";
import { t } from "~/messages/contacts";
import "~/pages/connectors/connectors.css";

const route = getRouteApi("/frame/g/$groupId/contact-points");

export function ContactPointPill({ contact }: { contact: ContactPoint }) {
  const { error } = contact;
  if (!error?.message) return <span className="ink-3">{t("noError")}</span>;
  return (
    <Pill tone={error.since ? "bad" : "idle"} title={error.message}>
      {error.message}
    </Pill>
  );
}

// What uses those of a group, as far as it can be seen there.
export function useUsers(groupId: string): (id: string) => readonly User[] {
  const notifications = useQuery(notificationsQuery(groupId)).data;
  const contacts = useQuery(contactPointsQuery(groupId)).data;
  return useMemo(() => (id) => usersOf(id, notifications ?? [], contacts ?? []), [notifications, contacts]);
}

function useColumns(groupId: string): Column<ContactPoint>[] {
  const { nameOf } = useContactPoints(groupId);
  const types = useQuery(contactPointTypesQuery).data;
  const usersFor = useUsers(groupId);
  return useMemo((): Column<ContactPoint>[] => {
    const typeName = (type: string) => types?.find((each) => each.type === type)?.name ?? type;
    const users = (id: string) => usersFor(id).map((each) => each.name).join(", ") || null;
    return [
      {
        id: "name",
        head: t("Name"),
        width: "minmax(130px, 1.2fr)",
        card: "title",
        cell: (row) =>
          // Of one that a group above shares, no more may be known than its name.
          row.params ? (
            <Link to="/g/$groupId/contact-points/$contactPointId" params={{ groupId: row.groupId, contactPointId: row.id }} className="row-name">
              {nameOr(row.name, row.id)}
            </Link>
          ) : (
            nameOr(row.name, row.id)
          ),
      },
      { id: "type", head: t("Type"), width: "minmax(100px, 0.8fr)", card: "line", cell: (row) => typeName(row.type) },
      {
        id: "to",
        head: t("To"),
        width: "minmax(130px, 1.5fr)",
        card: "wide",
        cell: (row) =>
          row.groupId === groupId ? (
            <span title={contactWords(row, nameOf)}>{contactWords(row, nameOf)}</span>
          ) : (
            <span className="ink-2">
              {t.rich("ofGroup", { group: <GroupName groupId={row.groupId} /> })}
            </span>
          ),
      },
      {
        id: "users",
        head: t("Used"),
        width: "minmax(120px, 1.2fr)",
        card: "wide",
        cell: (row) => {
          const names = users(row.id);
          return names ? <span title={names}>{t.rich("partByNames", { part: <span className="if-card">{t("used")}{" "}</span>, names })}</span> : <span className="ink-3">{t.rich("partNotInThisGroup", { part: <span className="if-card">{t("used")}{" "}</span> })}</span>;
        },
      },
      { id: "sent", head: t("LastSent"), width: "148px", cell: (row) => (row.params && row.type !== "rota" ? <TimeText at={row.lastSentAt} precision="minute" none={t("never")} /> : <span className="ink-3">–</span>) },
      { id: "error", head: t("State"), width: "minmax(120px, 1fr)", card: "line", cell: (row) => (row.params ? <ContactPointPill contact={row} /> : null) },
    ];
  }, [groupId, types, usersFor, nameOf]);
}

// Each once: those of the group are in both.
function merged(usable: readonly ContactPoint[], below: readonly ContactPoint[]): readonly ContactPoint[] {
  const known = new Set(usable.map((each) => each.id));
  return [...usable, ...below.filter((each) => !known.has(each.id))];
}

export function ContactPointsPage() {
  const { groupId } = route.useParams();
  const { q } = route.useSearch();
  const navigate = useNavigate();
  const { withBelow } = useScope();
  const below = useQuery({ ...contactPointsBelowQuery(groupId), enabled: withBelow }).data;
  const columns = useColumns(groupId);
  const { nameOf } = useContactPoints(groupId);
  const open = (row: ContactPoint) => {
    if (row.params) void navigate({ to: "/g/$groupId/contact-points/$contactPointId", params: { groupId: row.groupId, contactPointId: row.id } });
  };
  return (
    <ListPage
      groupId={groupId}
      title={t("ContactPoints")}
      query={useQuery(contactPointsQuery(groupId))}
      rows={(usable) => (withBelow ? merged(usable, below ?? []) : usable)}
      readOperation="GET /group/contactPoints"
      createOperation="POST /contactPoint"
      newPage="/g/$groupId/contact-points/new"
      newLabel={t("NewContactPoint")}
      empty={{
        text: t("contactPointIsRecipientsWithName"),
        create: t("CreateFirstContactPoint"),
        curl: `curl -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"groupId":"${groupId}","name":"Technicians","type":"webhook","params":"{\\"url\\":\\"https://example.com/alarm\\"}"}' \\
  "${SERVICE_URL}/contactPoint"`,
      }}
      nouns={[t("contactPoint"), t("contactPoints")]}
      columns={columns}
      textOf={(each) => `${each.name ?? ""} ${each.type} ${contactWords(each, nameOf)}`}
      placeholder={t("NameTypeOrRecipient")}
      q={q}
      rowHeight={40}
      onOpen={open}
    />
  );
}
