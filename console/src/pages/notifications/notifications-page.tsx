import { useMemo } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMeasurementWords } from "~/alarms/queries";
import { mayCall, useRights } from "~/api/may";
import { SERVICE_URL } from "~/base-path";
import { GroupName } from "~/frame/group-name";
import { useScope } from "~/frame/page-state";
import { parseParams } from "~/pages/connectors/params";
import { useContactPoints } from "~/pages/contacts/queries";
import { ListPage } from "~/ui/list-page";
import { Pill } from "~/ui/pill";
import type { Column } from "~/ui/table";
import { TimeText } from "~/ui/time-text";
import { nameOr } from "~/ui/name";
import { notificationsQuery, type Notification } from "./queries";
import { NotificationSwitch } from "./toggle";
import { WeekBar } from "./week-bar";
import { reasonWords, recipientWords } from "./words";
import { t } from "~/messages/notifications";
import "./notifications.css";

const route = getRouteApi("/frame/g/$groupId/notifications");

export function StatePill({ notification }: { notification: Notification }) {
  const { error, filterFailing } = notification;
  const message = error?.message ?? "";
  if (notification.enabled === false) return <Pill tone="idle">{t("disabled")}</Pill>;
  if (error?.since || (message && !filterFailing))
    return (
      <Pill tone={error?.since ? "bad" : "idle"} title={message}>
        {message}
      </Pill>
    );
  if (filterFailing)
    return (
      <Pill tone="warn" title={t("conditionFailsForFailedOfEvaluated", { failed: filterFailing.failed, evaluated: filterFailing.evaluated, message })}>
        {t("failsForFailedOfEvaluated", { failed: filterFailing.failed, evaluated: filterFailing.evaluated })}
      </Pill>
    );
  return <span className="ink-3">{t("noError")}</span>;
}

export function zoneOf(notification: Notification): string {
  const { timezone } = parseParams(notification.params);
  return typeof timezone === "string" ? timezone : "UTC";
}

// When it fires, with measurements as its group writes them.
export function ReasonText({ notification }: { notification: Notification }) {
  const { find } = useMeasurementWords(notification.groupId);
  const params = parseParams(notification.params);
  const words = reasonWords(notification.reason, params, typeof params.measurement === "string" ? find(params.measurement) : undefined);
  return <span title={words}>{words}</span>;
}

function RecipientText({ notification }: { notification: Notification }) {
  const { nameOf } = useContactPoints(notification.groupId);
  const words = recipientWords(notification.type, parseParams(notification.params), nameOf);
  return <span title={words}>{words}</span>;
}

function useColumns(groupId: string, hasGroups: boolean): Column<Notification>[] {
  const mayWrite = mayCall(useRights(groupId), "PUT /notification");
  return useMemo(() => {
    const columns: Column<Notification>[] = [
      {
        id: "name",
        head: t("Name"),
        width: "minmax(110px, 1fr)",
        card: "title",
        cell: (row) => (
          <Link to="/g/$groupId/notifications/$notificationId" params={{ groupId: row.groupId, notificationId: row.id }} className="row-name">
            {nameOr(row.name, row.id)}
          </Link>
        ),
      },
      { id: "reason", head: t("FiresWhen"), width: "minmax(150px, 1.6fr)", card: "wide", cell: (row) => <ReasonText notification={row} /> },
      { id: "to", head: t("To"), width: "minmax(110px, 1.2fr)", cell: (row) => <RecipientText notification={row} /> },
      { id: "schedule", head: t("Week"), width: "88px", cell: (row) => <WeekBar schedule={row.schedule} zone={zoneOf(row)} /> },
      { id: "fired", head: t("LastFired"), width: "148px", card: "line", cell: (row) => <TimeText at={row.lastFiredAt} precision="minute" none={t("never")} /> },
      { id: "sent", head: t("LastSent"), width: "148px", cell: (row) => <TimeText at={row.lastSentAt} precision="minute" none={t("never")} /> },
      { id: "error", head: t("State"), width: "minmax(144px, 1fr)", card: "line", cell: (row) => <StatePill notification={row} /> },
    ];
    if (hasGroups) columns.splice(1, 0, { id: "group", head: t("Group"), width: "minmax(80px, 0.7fr)", card: "line", cell: (row) => <GroupName groupId={row.groupId} /> });
    if (mayWrite) columns.push({ id: "switch", head: t("On"), width: "44px", card: "line", cell: (row) => <NotificationSwitch notification={row} /> });
    return columns;
  }, [mayWrite, hasGroups]);
}

export function NotificationsPage() {
  const { groupId } = route.useParams();
  const { q } = route.useSearch();
  const navigate = useNavigate();
  const { withBelow } = useScope();
  const query = useQuery(notificationsQuery(groupId, withBelow));
  const columns = useColumns(groupId, query.data?.some((each) => each.groupId !== groupId) ?? false);
  const { nameOf } = useContactPoints(groupId);
  return (
    <ListPage
      groupId={groupId}
      title={t("Notifications")}
      query={query}
      readOperation="GET /notification/notifications"
      createOperation="POST /notification"
      newPage="/g/$groupId/notifications/new"
      newLabel={t("NewNotification")}
      empty={{
        text: t("notificationSendsAlertWhenSomethingHappens"),
        create: t("CreateFirstNotification"),
        curl: `curl -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"groupId":"${groupId}","name":"Cold room","type":"webhook","reason":"batteryLow","params":"{\\"url\\":\\"https://example.com/alarm\\"}"}' \\
  "${SERVICE_URL}/notification"`,
      }}
      nouns={["notification", "notifications"]}
      columns={columns}
      textOf={(each) => `${each.name ?? ""} ${each.reason ?? ""} ${each.type} ${recipientWords(each.type, parseParams(each.params), nameOf)}`}
      placeholder={t("NameReasonOrRecipient")}
      q={q}
      rowHeight={40}
      onOpen={(row) => void navigate({ to: "/g/$groupId/notifications/$notificationId", params: { groupId: row.groupId, notificationId: row.id } })}
    />
  );
}
