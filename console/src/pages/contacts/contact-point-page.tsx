import { useMemo, useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { fetchNewest, groupQuery } from "~/api/queries";
import { parseParams } from "~/pages/connectors/params";
import { fieldsOf, paramNames, type FormField } from "~/pages/connectors/schema-form";
import { Button } from "~/ui/button";
import { IdText } from "~/ui/copy";
import { EditForm, useEdit } from "~/ui/edit";
import { Card, Facts, PageHeader } from "~/ui/page";
import { ErrorState, Loading, QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { hold } from "~/ui/toast";
import { Locked } from "~/ui/why";
import { nameOr } from "~/ui/name";
import { ContactPointFields } from "./contact-fields";
import { ContactPointPill, useUsers } from "./contact-points-page";
import { ROTA, bodyOf, differences, formOf, isComplete, parseShifts } from "./form";
import { contactPointQuery, contactPointTypesQuery, refreshContactPoint, useContactPoints, type ContactPoint } from "./queries";
import { TestButton, TestOutcome, type ContactPointTest } from "./test-outcome";
import { contactWords, shiftWords, type User } from "./words";
import { t } from "~/messages/contacts";
import "~/pages/connectors/connectors.css";
import "./contacts.css";

const route = getRouteApi("/frame/g/$groupId/contact-points/$contactPointId");

function Users({ groupId, users }: { groupId: string; users: readonly User[] }) {
  if (users.length === 0) return <span className="ink-2">{t("nothingInThisGroup")}</span>;
  return users.map((each, index) => (
    <span key={each.id}>
      {index > 0 && ", "}
      {each.kind === "notification" ? (
        <Link to="/g/$groupId/notifications/$notificationId" params={{ groupId, notificationId: each.id }}>
          {each.name}
        </Link>
      ) : (
        <Link to="/g/$groupId/contact-points/$contactPointId" params={{ groupId, contactPointId: each.id }}>
          {each.name}
        </Link>
      )}
    </span>
  ));
}

function Shifts({ contact, nameOf }: { contact: ContactPoint; nameOf: (id: string) => string }) {
  const params = parseParams(contact.params ?? "");
  return (
    <>
      {parseShifts(params.shifts).map((each, index) => (
        <div key={index}>
          {nameOf(each.contactPoint)}: {shiftWords(each)}
        </div>
      ))}
      <div className="ink-2">
        {t("elseNameOfTimezone", { nameOf: nameOf(String(params.fallback)), timezone: String(params.timezone) })}
      </div>
    </>
  );
}

function About({ contact, users }: { contact: ContactPoint; users: readonly User[] }) {
  const { nameOf } = useContactPoints(contact.groupId);
  const isRota = contact.type === ROTA;
  const { error } = contact;
  return (
    <Card>
      <Facts
        rows={[
          ...(isRota
            ? ([
                [t("OnCallNow"), <strong key="now">{(contact.onCall ?? []).map(nameOf).join(", ")}</strong>],
                [t("Shifts"), <Shifts key="shifts" contact={contact} nameOf={nameOf} />],
              ] as const)
            : ([[t("To"), contactWords(contact, nameOf)]] as const)),
          [t("UsedBy"), <Users key="users" groupId={contact.groupId} users={users} />],
          // What a rota sends leaves through those who are on call.
          ...(isRota
            ? []
            : ([
                [t("LastSent"), <TimeText key="sent" at={contact.lastSentAt} withAgo none={t("never")} />],
                [
                  t("LastError"),
                  error?.message ? (
                    <>
                      <TimeText at={error.at} withAgo /> {error.message}
                      {error.since && (
                        <>
                          {" "}
                          {t.rich("failingSinceTime", { time: <TimeText at={error.since} withAgo /> })}
                        </>
                      )}
                    </>
                  ) : (
                    "none"
                  ),
                ],
              ] as const)),
        ]}
      />
    </Card>
  );
}

function Fields({ contact, fields }: { contact: ContactPoint; fields: readonly FormField[] }) {
  const client = useQueryClient();
  const { groupId, id: contactPointId, type } = contact;
  const edit = useEdit({
    stored: contact,
    formOf: (version) => formOf(version, fields),
    put: (form, before) => read(api.PUT("/contactPoint", { body: { groupId, contactPointId, ...bodyOf(form, type, fields), ifUpdatedAt: before.updatedAt } })),
    restore: (version, { updatedAt }) =>
      read(api.PUT("/contactPoint", { body: { groupId, contactPointId, ...bodyOf(formOf(version, fields), type, fields), params: version.params, ifUpdatedAt: updatedAt } })),
    isSame: (one, other) => one.params === other.params && differences(formOf(one, fields), formOf(other, fields), fields).length === 0,
    readNewest: () => fetchNewest(contactPointQuery(groupId, contactPointId)),
    onStored: (version) => refreshContactPoint(client, version),
    compare: (mine, theirs) => differences(mine, theirs, fields),
    savedText: t("Saved"),
    fields: ["name", "description", "type", ...paramNames(fields)],
  });
  return (
    <EditForm edit={edit} reason={isComplete(edit.form, type, fields)} className="edit-form" actionsClass="edit-actions">
      <ContactPointFields groupId={groupId} type={type} form={edit.form} fields={fields} problem={edit.submission.problem} onChange={edit.change} />
    </EditForm>
  );
}

function Edit({ contact }: { contact: ContactPoint }) {
  const types = useQuery(contactPointTypesQuery);
  const type = types.data?.find((each) => each.type === contact.type);
  const fields = useMemo(() => (type ? fieldsOf(type.expectedParameters) : []), [type]);
  if (types.isError) return <ErrorState error={types.error} onRetry={() => void types.refetch()} />;
  if (!type) return <Loading rows={6} />;
  return <Fields contact={contact} fields={fields} />;
}

function DeleteButton({ contact, users }: { contact: ContactPoint; users: readonly User[] }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { groupId, id: contactPointId } = contact;
  const remove = () => {
    hold(t("DeletingName", { name: nameOr(contact.name, contactPointId) }), async () => {
      await read(api.DELETE("/contactPoint", { params: { query: { groupId, contactPointId } } }));
      client.removeQueries({ queryKey: ["contact-point", groupId, contactPointId] });
      await client.invalidateQueries({ queryKey: ["contact-points"] });
    });
    void navigate({ to: "/g/$groupId/contact-points", params: { groupId } });
  };
  const names = users.map((each) => each.name).join(", ");
  return (
    <Button look="danger" onClick={remove} disabledReason={names ? t("ItIsUsedByNamesRemove", { names }) : undefined}>
      {t("Delete")}
    </Button>
  );
}

export function ContactPointPage() {
  const { groupId, contactPointId } = route.useParams();
  const query = useQuery(contactPointQuery(groupId, contactPointId));
  const group = useQuery(groupQuery(groupId));
  const mayWrite = useMay(groupId, "PUT /contactPoint");
  const users = useUsers(groupId)(contactPointId);
  const [test, setTest] = useState<ContactPointTest | null>(null);
  const found = query.data;
  return (
    <>
      <PageHeader
        title={found?.name ?? t("ContactPoint")}
        above={
          <>
            {group.data?.name} /{" "}
            <Link to="/g/$groupId/contact-points" params={{ groupId }}>
              {t("ContactPoints")}
            </Link>
          </>
        }
        state={found && <ContactPointPill contact={found} />}
        below={found && <IdText id={found.id} />}
        actions={
          found &&
          mayWrite && (
            <>
              <TestButton key={found.id} contact={found} onTest={setTest} />
              <DeleteButton contact={found} users={users} />
            </>
          )
        }
      />
      <div role="status" className="test-status" aria-label={t("OutcomeOfTest")}>
        {test?.contactPointId === contactPointId && <TestOutcome test={test} />}
      </div>
      <QueryView query={query} noun={t("contactPoint")} operation="GET /contactPoint" groupId={groupId}>
        {(contact) => (
          <>
            <About contact={contact} users={users} />
            {mayWrite ? <Edit key={contact.id} contact={contact} /> : <Locked label={t("Edit")} operation="PUT /contactPoint" groupId={groupId} />}
          </>
        )}
      </QueryView>
    </>
  );
}
