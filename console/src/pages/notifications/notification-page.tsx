import { useMemo } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { fetchNewest, groupQuery } from "~/api/queries";
import { parseParams } from "~/pages/connectors/params";
import { fieldsOf, paramNames, type FormField } from "~/pages/connectors/schema-form";
import { useContactPoints } from "~/pages/contacts/queries";
import { Button } from "~/ui/button";
import { IdText } from "~/ui/copy";
import { EditForm, useEdit } from "~/ui/edit";
import { Card, Facts, PageHeader } from "~/ui/page";
import { ErrorState, Loading, QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { hold, showToast } from "~/ui/toast";
import { Locked } from "~/ui/why";
import { nameOr } from "~/ui/name";
import { bodyOf, differences, formOf, isComplete } from "./form";
import { NotificationFields } from "./notification-fields";
import { ReasonText, StatePill, zoneOf } from "./notifications-page";
import { notificationQuery, notificationTypesQuery, refreshNotification, type Notification } from "./queries";
import { NotificationSwitch } from "./toggle";
import { WeekBar } from "./week-bar";
import { parseSchedule, recipientWords, scheduleWords } from "./words";
import { t } from "~/messages/notifications";
import "~/pages/connectors/connectors.css";
import "./notifications.css";

const route = getRouteApi("/frame/g/$groupId/notifications/$notificationId");

function About({ notification }: { notification: Notification }) {
  const params = parseParams(notification.params);
  const { nameOf } = useContactPoints(notification.groupId);
  const since = notification.error?.since ?? notification.filterFailing?.since;
  return (
    <Card>
      <Facts
        rows={[
          [t("FiresWhen"), <ReasonText key="reason" notification={notification} />],
          [t("To"), recipientWords(notification.type, params, nameOf)],
          [
            t("MayBeSent"),
            <>
              <WeekBar schedule={notification.schedule} zone={zoneOf(notification)} /> {scheduleWords(parseSchedule(notification.schedule), zoneOf(notification))}
            </>,
          ],
          [t("LastFired"), <TimeText at={notification.lastFiredAt} withAgo none={t("never")} />],
          [t("LastSent"), <TimeText at={notification.lastSentAt} withAgo none={t("never")} />],
          [
            t("LastError"),
            notification.error?.message ? (
              <>
                <TimeText at={notification.error.at} withAgo /> {notification.error.message}
                {since && (
                  <>
                    {" "}
                    {t.rich("failingSinceTime", { time: <TimeText at={since} withAgo /> })}
                  </>
                )}
              </>
            ) : (
              "none"
            ),
          ],
        ]}
      />
    </Card>
  );
}

const WIRE_FIELDS = ["name", "type", "reason", "deviceId", "deviceTypes", "schedule", "params.geofence", "params.contactPoints"];

function Fields({ notification, fields }: { notification: Notification; fields: readonly FormField[] }) {
  const client = useQueryClient();
  const { groupId, id: notificationId } = notification;
  const edit = useEdit({
    stored: notification,
    formOf: (version) => formOf(version, fields),
    put: (form, before) => read(api.PUT("/notification", { body: { groupId, notificationId, ...bodyOf(form, fields), ifUpdatedAt: before.updatedAt } })),
    restore: (version, { updatedAt }) =>
      read(api.PUT("/notification", { body: { groupId, notificationId, ...bodyOf(formOf(version, fields), fields), params: version.params, ifUpdatedAt: updatedAt } })),
    isSame: (one, other) => one.params === other.params && differences(formOf(one, fields), formOf(other, fields)).length === 0,
    readNewest: () => fetchNewest(notificationQuery(groupId, notificationId)),
    onStored: (version) => refreshNotification(client, version),
    compare: differences,
    savedText: t("Saved"),
    fields: [...WIRE_FIELDS, ...paramNames(fields)],
  });
  return (
    <EditForm edit={edit} reason={isComplete(edit.form, notification.type, fields)} className="edit-form" actionsClass="edit-actions">
      <NotificationFields groupId={groupId} type={notification.type} notificationId={notificationId} form={edit.form} fields={fields} problem={edit.submission.problem} onChange={edit.change} />
    </EditForm>
  );
}

function Edit({ notification }: { notification: Notification }) {
  const types = useQuery(notificationTypesQuery);
  const type = types.data?.find((each) => each.type === notification.type);
  const fields = useMemo(() => (type ? fieldsOf(type.expectedParameters) : []), [type]);
  if (types.isError) return <ErrorState error={types.error} onRetry={() => void types.refetch()} />;
  if (!type) return <Loading rows={6} />;
  return <Fields notification={notification} fields={fields} />;
}

function Actions({ notification }: { notification: Notification }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { groupId, id: notificationId } = notification;
  const name = nameOr(notification.name, notificationId);
  const test = useMutation({
    mutationFn: () => read(api.POST("/notification/test", { body: { groupId, notificationId } })),
    onSuccess: ({ queued }) => {
      showToast(t("countTestsAreOnTheirWay", { count: queued }));
      void client.invalidateQueries({ queryKey: ["notification", groupId, notificationId] });
    },
    onError: (error) => void showToast(error.message, { tone: "bad" }),
  });
  const remove = () => {
    hold(t("DeletingName", { name }), async () => {
      await read(api.DELETE("/notification", { params: { query: { name: groupId, notificationId } } }));
      client.removeQueries({ queryKey: ["notification", groupId, notificationId] });
      await client.invalidateQueries({ queryKey: ["notifications", groupId] });
    });
    void navigate({ to: "/g/$groupId/notifications", params: { groupId } });
  };
  return (
    <>
      <NotificationSwitch notification={notification} />
      <Button writes onClick={() => test.mutate()} disabled={test.isPending} title={t("SendsSampleContentToEveryRecipient")}>
        {t("Test")}
      </Button>
      <Button look="danger" onClick={remove}>
        {t("Delete")}
      </Button>
    </>
  );
}

export function NotificationPage() {
  const { groupId, notificationId } = route.useParams();
  const query = useQuery(notificationQuery(groupId, notificationId));
  const group = useQuery(groupQuery(groupId));
  const mayWrite = useMay(groupId, "PUT /notification");
  const found = query.data;
  return (
    <>
      <PageHeader
        title={found?.name ?? t("Notification")}
        above={
          <>
            {group.data?.name} /{" "}
            <Link to="/g/$groupId/notifications" params={{ groupId }}>
              {t("Notifications")}
            </Link>
          </>
        }
        state={found && <StatePill notification={found} />}
        below={found && <IdText id={found.id} />}
        actions={found && mayWrite && <Actions notification={found} />}
      />
      <QueryView query={query} noun={t("notification")} operation="GET /notification" groupId={groupId}>
        {(notification) => (
          <>
            <About notification={notification} />
            {mayWrite ? <Edit key={notification.id} notification={notification} /> : <Locked label={t("Edit")} operation="PUT /notification" groupId={groupId} />}
          </>
        )}
      </QueryView>
    </>
  );
}
