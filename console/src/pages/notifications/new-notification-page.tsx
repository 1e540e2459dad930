import { useMemo, useState } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { ApiProblem, api, read, type Schemas } from "~/api/client";
import { useMay, useRights } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { useZone } from "~/frame/page-state";
import { fieldsOf } from "~/pages/connectors/schema-form";
import { Button } from "~/ui/button";
import { PageHeader } from "~/ui/page";
import { ErrorState, QueryView } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { Locked } from "~/ui/why";
import { bodyOf, emptyForm, isComplete } from "./form";
import { NotificationFields } from "./notification-fields";
import { notificationTypesQuery } from "./queries";
import { TypeChoice } from "./type-choice";
import "~/pages/connectors/connectors.css";
import "./notifications.css";

const route = getRouteApi("/frame/g/$groupId/notifications/new");

const TYPE_HINTS: Readonly<Record<string, string>> = {
  email: "A mail of its own to each address",
  webhook: "A request to a URL, signed by Standard Webhooks",
  push: "To phones and browsers of the members",
  chat: "Slack, Telegram, PagerDuty and others",
  contactPoints: "To recipients that several notifications share",
};

function Guide({ groupId, type, area }: { groupId: string; type: Schemas["NotificationType"]; area: string | undefined }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const zone = useZone() || Intl.DateTimeFormat().resolvedOptions().timeZone;
  const fields = useMemo(() => fieldsOf(type.expectedParameters), [type]);
  const [form, setForm] = useState(() => (area ? { ...emptyForm(zone), reason: "geofenceEnter", geofence: area } : emptyForm(zone)));
  const save = useMutation({
    mutationFn: () => read(api.POST("/notification", { body: { groupId, type: type.type, ...bodyOf(form, fields) } })),
    onSuccess: (created) => {
      void client.invalidateQueries({ queryKey: ["notifications", groupId] });
      showToast(`${created.name ?? "It"} fires from now on.`);
      void navigate({ to: "/g/$groupId/notifications/$notificationId", params: { groupId, notificationId: created.id } });
    },
  });
  const problem = save.error instanceof ApiProblem ? save.error : null;
  return (
    <form
      className="edit-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!save.isPending && !isComplete(form, type.type, fields)) save.mutate();
      }}
    >
      <NotificationFields groupId={groupId} type={type.type} form={form} fields={fields} problem={problem} onChange={(change) => setForm((before) => ({ ...before, ...change }))} />
      {save.error && !(problem && problem.fields.length > 0) && <ErrorState error={save.error} />}
      <div className="form-actions edit-actions">
        <Button look="primary" type="submit" disabledReason={isComplete(form, type.type, fields)} disabled={save.isPending}>
          Save
        </Button>
        {problem && problem.fields.length > 0 && (
          <span className="field-error" role="alert">
            {problem.fields.length === 1 ? "One field is wrong." : `${problem.fields.length} fields are wrong.`} Nothing is saved.
          </span>
        )}
      </div>
    </form>
  );
}

export function NewNotificationPage() {
  const { groupId } = route.useParams();
  const { type, area } = route.useSearch();
  const setSearch = route.useNavigate();
  const rights = useRights(groupId);
  const mayCreate = useMay(groupId, "POST /notification");
  const group = useQuery(groupQuery(groupId));
  const types = useQuery(notificationTypesQuery);
  return (
    <>
      <PageHeader
        title="New notification"
        above={
          <>
            {group.data?.name} /{" "}
            <Link to="/g/$groupId/notifications" params={{ groupId }}>
              Notifications
            </Link>
          </>
        }
      />
      {rights.isKnown && !mayCreate ? (
        <Locked label="New notification" operation="POST /notification" groupId={groupId} />
      ) : (
        <QueryView query={types} skeletonRows={3}>
          {(all) => {
            const chosen = all.find((each) => each.type === type && !each.unavailable);
            return (
              <>
                <TypeChoice
                  title="How is it sent?"
                  label="Type of notification"
                  types={all}
                  hints={TYPE_HINTS}
                  chosen={chosen?.type}
                  isOperator={rights.isOperator}
                  onChoose={(next) => void setSearch({ search: (before) => ({ ...before, type: next }) })}
                />
                {chosen && <Guide key={chosen.type} groupId={groupId} type={chosen} area={area} />}
              </>
            );
          }}
        </QueryView>
      )}
    </>
  );
}
