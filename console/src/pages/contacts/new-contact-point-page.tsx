import { useMemo } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { api, read, type Schemas } from "~/api/client";
import { useRights } from "~/api/may";
import { useZone } from "~/frame/page-state";
import { fieldsOf } from "~/pages/connectors/schema-form";
import { TypeChoice } from "~/pages/notifications/type-choice";
import { NewForm, NewPage, problemOf, useNewDraft } from "~/ui/new-form";
import { showToast } from "~/ui/toast";
import { ContactPointFields } from "./contact-fields";
import { bodyOf, emptyForm, isComplete } from "./form";
import { contactPointTypesQuery, refreshContactPoint } from "./queries";
import { CONTACT_TYPE_HINTS } from "./words";
import { t } from "~/messages/contacts";
import "~/pages/connectors/connectors.css";
import "./contacts.css";

const route = getRouteApi("/frame/g/$groupId/contact-points/new");

function NewFields({ groupId, type, expectedParameters }: { groupId: string } & Pick<Schemas["ContactPointType"], "type" | "expectedParameters">) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const zone = useZone() || Intl.DateTimeFormat().resolvedOptions().timeZone;
  const fields = useMemo(() => fieldsOf(expectedParameters), [expectedParameters]);
  const { form, isChanged, change } = useNewDraft(() => emptyForm(zone));
  const save = useMutation({
    mutationFn: () => read(api.POST("/contactPoint", { body: { groupId, type, ...bodyOf(form, type, fields) } })),
    onSuccess: (created) => {
      refreshContactPoint(client, created);
      showToast(t("NotificationsCanBeSentToName", { name: created.name ?? "it" }));
      void navigate({ to: "/g/$groupId/contact-points/$contactPointId", params: { groupId, contactPointId: created.id } });
    },
  });
  const problem = problemOf(save);
  return (
    <NewForm save={save} isChanged={isChanged} missing={isComplete(form, type, fields)}>
      <ContactPointFields groupId={groupId} type={type} form={form} fields={fields} problem={problem} onChange={change} />
    </NewForm>
  );
}

export function NewContactPointPage() {
  const { groupId } = route.useParams();
  const { type } = route.useSearch();
  const setSearch = route.useNavigate();
  const { isOperator } = useRights(groupId);
  return (
    <NewPage groupId={groupId} title={t("NewContactPoint")} list={{ to: "/g/$groupId/contact-points", label: t("ContactPoints") }} operation="POST /contactPoint" query={useQuery(contactPointTypesQuery)}>
      {(types) => {
        const chosen = types.find((each) => each.type === type && !each.unavailable);
        return (
          <>
            <TypeChoice
              title={t("HowDoesItReachThem")}
              label={t("TypeOfContactPoint")}
              types={types}
              hints={CONTACT_TYPE_HINTS}
              chosen={chosen?.type}
              isOperator={isOperator}
              onChoose={(next) => void setSearch({ search: (before) => ({ ...before, type: next }) })}
            />
            {chosen && <NewFields key={chosen.type} groupId={groupId} type={chosen.type} expectedParameters={chosen.expectedParameters} />}
          </>
        );
      }}
    </NewPage>
  );
}
