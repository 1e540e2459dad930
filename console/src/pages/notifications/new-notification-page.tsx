import { useMemo } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { api, read, type Schemas } from "~/api/client";
import { useRights } from "~/api/may";
import { useZone } from "~/frame/page-state";
import { fieldsOf } from "~/pages/connectors/schema-form";
import { NewForm, NewPage, problemOf, useNewDraft } from "~/ui/new-form";
import { showToast } from "~/ui/toast";
import { bodyOf, emptyForm, isComplete } from "./form";
import { NotificationFields } from "./notification-fields";
import { notificationTypesQuery } from "./queries";
import { TypeChoice } from "./type-choice";
import { t } from "~/messages/notifications";
import "~/pages/connectors/connectors.css";
import "./notifications.css";

const route = getRouteApi("/frame/g/$groupId/notifications/new");

const TYPE_HINTS: Readonly<Record<string, string>> = {
  email: t("mailOfItsOwnToEach"),
  webhook: t("requestToURLSignedByStandard"),
  push: t("ToPhonesAndBrowsersOfMembers"),
  chat: t("SlackTelegramPagerDutyAndOthers"),
  contactPoints: t("ToRecipientsThatSeveralNotificationsShare"),
};

function NewFields({ groupId, type, area }: { groupId: string; type: Schemas["NotificationType"]; area: string | undefined }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const zone = useZone() || Intl.DateTimeFormat().resolvedOptions().timeZone;
  const fields = useMemo(() => fieldsOf(type.expectedParameters), [type]);
  const { form, isChanged, change } = useNewDraft(() => (area ? { ...emptyForm(zone), reason: "geofenceEnter", geofence: area } : emptyForm(zone)));
  const save = useMutation({
    mutationFn: () => read(api.POST("/notification", { body: { groupId, type: type.type, ...bodyOf(form, fields) } })),
    onSuccess: (created) => {
      void client.invalidateQueries({ queryKey: ["notifications", groupId] });
      showToast(t("nameFiresFromNowOn", { name: created.name ?? t("It") }));
      void navigate({ to: "/g/$groupId/notifications/$notificationId", params: { groupId, notificationId: created.id } });
    },
  });
  const problem = problemOf(save);
  return (
    <NewForm save={save} isChanged={isChanged} missing={isComplete(form, type.type, fields)}>
      <NotificationFields groupId={groupId} type={type.type} form={form} fields={fields} problem={problem} onChange={change} />
    </NewForm>
  );
}

export function NewNotificationPage() {
  const { groupId } = route.useParams();
  const { type, area } = route.useSearch();
  const setSearch = route.useNavigate();
  const { isOperator } = useRights(groupId);
  return (
    <NewPage groupId={groupId} title={t("NewNotification")} list={{ to: "/g/$groupId/notifications", label: t("Notifications") }} operation="POST /notification" query={useQuery(notificationTypesQuery)}>
      {(types) => {
        const chosen = types.find((each) => each.type === type && !each.unavailable);
        return (
          <>
            <TypeChoice
              title={t("HowIsItSent")}
              label={t("TypeOfNotification")}
              types={types}
              hints={TYPE_HINTS}
              chosen={chosen?.type}
              isOperator={isOperator}
              onChoose={(next) => void setSearch({ search: (before) => ({ ...before, type: next }) })}
            />
            {chosen && <NewFields key={chosen.type} groupId={groupId} type={chosen} area={area} />}
          </>
        );
      }}
    </NewPage>
  );
}
