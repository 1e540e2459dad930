import { useMemo, useState } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi, useBlocker, useNavigate } from "@tanstack/react-router";
import { ApiProblem, api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { parseParams } from "~/pages/connectors/params";
import { fieldsOf, type FormField } from "~/pages/connectors/schema-form";
import { Button } from "~/ui/button";
import { ConflictDialog } from "~/ui/conflict-dialog";
import { IdText } from "~/ui/copy";
import { sendByKeys } from "~/ui/keys";
import { Card, Facts, PageHeader } from "~/ui/page";
import { ErrorState, Loading, QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { hold, showToast } from "~/ui/toast";
import { Locked } from "~/ui/why";
import { nameOr } from "~/ui/name";
import { bodyOf, differences, formOf, isComplete, type NotificationForm } from "./form";
import { NotificationFields } from "./notification-fields";
import { StatePill, zoneOf } from "./notifications-page";
import { notificationQuery, notificationTypesQuery, refreshNotification, type Notification } from "./queries";
import { NotificationSwitch } from "./toggle";
import { WeekBar } from "./week-bar";
import { parseSchedule, reasonWords, recipientWords, scheduleWords } from "./words";
import "~/pages/connectors/connectors.css";
import "./notifications.css";

const route = getRouteApi("/frame/g/$groupId/notifications/$notificationId");

function About({ notification }: { notification: Notification }) {
  const params = parseParams(notification.params);
  return (
    <Card>
      <Facts
        rows={[
          ["Fires when", reasonWords(notification.reason, params)],
          ["To", recipientWords(notification.type, params)],
          [
            "May be sent",
            <>
              <WeekBar schedule={notification.schedule} zone={zoneOf(notification)} /> {scheduleWords(parseSchedule(notification.schedule), zoneOf(notification))}
            </>,
          ],
          ["Last fired", <TimeText at={notification.lastFiredAt} withAgo none="never" />],
          ["Last sent", <TimeText at={notification.lastSentAt} withAgo none="never" />],
          [
            "Last error",
            notification.error?.message ? (
              <>
                <TimeText at={notification.error.at} withAgo /> {notification.error.message}
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

function EditForm({ notification, fields }: { notification: Notification; fields: readonly FormField[] }) {
  const client = useQueryClient();
  const { groupId, id: notificationId } = notification;
  // What the form began with: a refresh of the page does not change what is being typed.
  const [base, setBase] = useState(notification);
  const baseForm = useMemo(() => formOf(base, fields), [base, fields]);
  const [form, setForm] = useState(baseForm);
  const [theirs, setTheirs] = useState<Notification | null>(null);
  const isChanged = JSON.stringify(form) !== JSON.stringify(baseForm);
  const adopt = (version: Notification) => {
    refreshNotification(client, version);
    setBase(version);
    setForm(formOf(version, fields));
    setTheirs(null);
  };
  const put = (given: NotificationForm, ifUpdatedAt: string) => read(api.PUT("/notification", { body: { groupId, notificationId, ...bodyOf(given, fields), ifUpdatedAt } }));
  const save = useMutation({
    // `before` is the version that it is saved over, and that an undo restores: somebody else's, if they were asked about it.
    mutationFn: (before: Notification) => put(form, before.updatedAt),
    onSuccess: (changed, before) => {
      const undo = () => put(formOf(before, fields), changed.updatedAt).then(adopt);
      adopt(changed);
      showToast("Saved.", { action: { label: "Undo", run: undo } });
    },
    onError: async (error) => {
      if (!(error instanceof ApiProblem) || error.code !== "changed_meanwhile") return;
      setTheirs(await client.fetchQuery({ ...notificationQuery(groupId, notificationId), staleTime: 0 }));
    },
  });
  useBlocker({ shouldBlockFn: () => isChanged && !window.confirm("Leave without saving your changes?"), enableBeforeUnload: isChanged, disabled: !isChanged });
  const problem = save.error instanceof ApiProblem && save.error.code !== "changed_meanwhile" ? save.error : null;
  const submit = (before = base) => save.mutate(before);
  return (
    <form
      className="edit-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (isChanged && !save.isPending && !isComplete(form, fields)) submit();
      }}
      onKeyDown={sendByKeys}
    >
      <NotificationFields groupId={groupId} form={form} fields={fields} problem={problem} onChange={(change) => setForm((before) => ({ ...before, ...change }))} />
      {save.error && !theirs && !(problem && problem.fields.length > 0) && <ErrorState error={save.error} />}
      <div className="form-actions edit-actions">
        <Button look="primary" type="submit" disabled={!isChanged || save.isPending} disabledReason={isChanged ? isComplete(form, fields) : undefined}>
          Save
        </Button>
        <Button onClick={() => setForm(baseForm)} disabled={!isChanged}>
          Discard
        </Button>
        {problem && problem.fields.length > 0 && (
          <span className="field-error" role="alert">
            {problem.fields.length === 1 ? "One field is wrong." : `${problem.fields.length} fields are wrong.`} Nothing is saved.
          </span>
        )}
      </div>
      {theirs && (
        <ConflictDialog
          rows={differences(form, formOf(theirs, fields))}
          changedAt={theirs.updatedAt}
          onClose={() => setTheirs(null)}
          onTheirs={() => adopt(theirs)}
          onMine={() => {
            setTheirs(null);
            submit(theirs);
          }}
        />
      )}
    </form>
  );
}

function Edit({ notification }: { notification: Notification }) {
  const types = useQuery(notificationTypesQuery);
  const type = types.data?.find((each) => each.type === notification.type);
  const fields = useMemo(() => (type ? fieldsOf(type.expectedParameters) : []), [type]);
  if (types.isError) return <ErrorState error={types.error} onRetry={() => void types.refetch()} />;
  if (!type) return <Loading rows={6} />;
  return <EditForm notification={notification} fields={fields} />;
}

function Actions({ notification }: { notification: Notification }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { groupId, id: notificationId } = notification;
  const name = nameOr(notification.name, notificationId);
  const test = useMutation({
    mutationFn: () => read(api.POST("/notification/test", { body: { groupId, notificationId } })),
    onSuccess: ({ queued }) => {
      showToast(queued === 1 ? "One test message is on its way." : `${queued} test messages are on their way.`);
      void client.invalidateQueries({ queryKey: ["notification", groupId, notificationId] });
    },
    onError: (error) => void showToast(error.message, { tone: "bad" }),
  });
  const remove = () => {
    hold(`Deleting ${name}`, async () => {
      await read(api.DELETE("/notification", { params: { query: { name: groupId, notificationId } } }));
      client.removeQueries({ queryKey: ["notification", groupId, notificationId] });
      await client.invalidateQueries({ queryKey: ["notifications", groupId] });
    });
    void navigate({ to: "/g/$groupId/notifications", params: { groupId } });
  };
  return (
    <>
      <NotificationSwitch notification={notification} />
      <Button writes onClick={() => test.mutate()} disabled={test.isPending} title="Sample content to every recipient, whatever schedule and throttle say; five a minute">
        Test
      </Button>
      <Button look="danger" onClick={remove}>
        Delete
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
        title={found?.name ?? "Notification"}
        above={
          <>
            {group.data?.name} /{" "}
            <Link to="/g/$groupId/notifications" params={{ groupId }}>
              Notifications
            </Link>
          </>
        }
        state={found && <StatePill notification={found} />}
        below={found && <IdText id={found.id} />}
        actions={found && mayWrite && <Actions notification={found} />}
      />
      <QueryView query={query} noun="notification" operation="GET /notification" groupId={groupId}>
        {(notification) => (
          <>
            <About notification={notification} />
            {mayWrite ? <Edit key={notification.id} notification={notification} /> : <Locked label="Edit" operation="PUT /notification" groupId={groupId} />}
          </>
        )}
      </QueryView>
    </>
  );
}
