import { useMemo, useState } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { ApiProblem, api, read, type Schemas } from "~/api/client";
import { useMay, useRights } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { useZone } from "~/frame/page-state";
import { fieldsOf } from "~/pages/connectors/schema-form";
import { TypeChoice } from "~/pages/notifications/type-choice";
import { Button } from "~/ui/button";
import { sendByKeys } from "~/ui/keys";
import { PageHeader } from "~/ui/page";
import { ErrorState, QueryView } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { Locked } from "~/ui/why";
import { ContactPointFields } from "./contact-fields";
import { bodyOf, emptyForm, isComplete } from "./form";
import { contactPointTypesQuery, refreshContactPoint } from "./queries";
import { CONTACT_TYPE_HINTS } from "./words";
import "~/pages/connectors/connectors.css";
import "./contacts.css";

const route = getRouteApi("/frame/g/$groupId/contact-points/new");

function NewFields({ groupId, type, expectedParameters }: { groupId: string } & Pick<Schemas["ContactPointType"], "type" | "expectedParameters">) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const zone = useZone() || Intl.DateTimeFormat().resolvedOptions().timeZone;
  const fields = useMemo(() => fieldsOf(expectedParameters), [expectedParameters]);
  const [form, setForm] = useState(() => emptyForm(zone));
  const save = useMutation({
    mutationFn: () => read(api.POST("/contactPoint", { body: { groupId, type, ...bodyOf(form, type, fields) } })),
    onSuccess: (created) => {
      refreshContactPoint(client, created);
      showToast(`Notifications can be sent to ${created.name ?? "it"} from now on.`);
      void navigate({ to: "/g/$groupId/contact-points/$contactPointId", params: { groupId, contactPointId: created.id } });
    },
  });
  const problem = save.error instanceof ApiProblem ? save.error : null;
  const missing = isComplete(form, type, fields);
  return (
    <form
      className="edit-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!save.isPending && !missing) save.mutate();
      }}
      onKeyDown={sendByKeys}
    >
      <ContactPointFields groupId={groupId} type={type} form={form} fields={fields} problem={problem} onChange={(change) => setForm((before) => ({ ...before, ...change }))} />
      {save.error && !(problem && problem.fields.length > 0) && <ErrorState error={save.error} />}
      <div className="form-actions edit-actions">
        <Button look="primary" type="submit" disabledReason={missing} disabled={save.isPending}>
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

export function NewContactPointPage() {
  const { groupId } = route.useParams();
  const { type } = route.useSearch();
  const setSearch = route.useNavigate();
  const rights = useRights(groupId);
  const mayCreate = useMay(groupId, "POST /contactPoint");
  const group = useQuery(groupQuery(groupId));
  const types = useQuery(contactPointTypesQuery);
  return (
    <>
      <PageHeader
        title="New contact point"
        above={
          <>
            {group.data?.name} /{" "}
            <Link to="/g/$groupId/contact-points" params={{ groupId }}>
              Contact points
            </Link>
          </>
        }
      />
      {rights.isKnown && !mayCreate ? (
        <Locked label="New contact point" operation="POST /contactPoint" groupId={groupId} />
      ) : (
        <QueryView query={types} skeletonRows={3}>
          {(all) => {
            const chosen = all.find((each) => each.type === type && !each.unavailable);
            return (
              <>
                <TypeChoice
                  title="How does it reach them?"
                  label="Type of contact point"
                  types={all}
                  hints={CONTACT_TYPE_HINTS}
                  chosen={chosen?.type}
                  isOperator={rights.isOperator}
                  onChoose={(next) => void setSearch({ search: (before) => ({ ...before, type: next }) })}
                />
                {chosen && <NewFields key={chosen.type} groupId={groupId} type={chosen.type} expectedParameters={chosen.expectedParameters} />}
              </>
            );
          }}
        </QueryView>
      )}
    </>
  );
}
