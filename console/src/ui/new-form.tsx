// The page that makes something new for a group: where it belongs, the choices, one button at the end.
import { useState, type ReactNode } from "react";
import { useQuery, type UseMutationResult, type UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ApiProblem } from "~/api/client";
import { mayCall, useRights } from "~/api/may";
import type { Operation } from "~/api/permissions";
import { groupQuery } from "~/api/queries";
import { Button } from "./button";
import { useUnsaved } from "./drafts";
import { WrongFields } from "./form";
import { sendByKeys } from "./keys";
import { PageHeader } from "./page";
import { ErrorState, Loading, QueryView } from "./state";
import { Locked } from "./why";
import { t } from "~/messages/ui";

// What was refused, where a field can say it.
export function problemOf(save: { error: Error | null }): ApiProblem | null {
  return save.error instanceof ApiProblem ? save.error : null;
}

export interface NewDraft<Form extends object> {
  form: Form;
  isChanged: boolean;
  change: (part: Partial<Form>) => void;
}

export function useNewDraft<Form extends object>(initial: () => Form): NewDraft<Form> {
  const [first] = useState(initial);
  const [form, setForm] = useState(first);
  return { form, isChanged: form !== first, change: (part) => setForm((before) => ({ ...before, ...part })) };
}

export function NewForm({
  save,
  isChanged,
  missing,
  children,
}: {
  // Sends the form, and goes to what it has made.
  save: UseMutationResult<unknown, Error, void>;
  isChanged: boolean;
  // Why it cannot be saved yet.
  missing: string | undefined;
  children: ReactNode;
}) {
  useUnsaved(isChanged && !save.isPending && !save.isSuccess);
  const problem = problemOf(save);
  const wrong = problem?.fields.length ?? 0;
  return (
    <form
      className="edit-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!save.isPending && !missing) save.mutate();
      }}
      onKeyDown={sendByKeys}
    >
      {children}
      {save.error && wrong === 0 && <ErrorState error={save.error} />}
      <div className="form-actions edit-actions">
        <Button look="primary" type="submit" disabledReason={missing} disabled={save.isPending}>
          {t("Save")}
        </Button>
        <WrongFields count={wrong} />
      </div>
    </form>
  );
}

export function NewPage<T>({
  groupId,
  title,
  list,
  operation,
  query,
  children,
}: {
  groupId: string;
  title: string;
  // The page that lists what is made here.
  list: { to: "/g/$groupId/contact-points" | "/g/$groupId/notifications" | "/g/$groupId/reports"; label: string };
  operation: Operation;
  // What there is to choose from.
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
}) {
  const rights = useRights(groupId);
  const group = useQuery(groupQuery(groupId));
  return (
    <>
      <PageHeader
        title={title}
        above={
          <>
            {group.data?.name} /{" "}
            <Link to={list.to} params={{ groupId }}>
              {list.label}
            </Link>
          </>
        }
      />
      {rights.isKnown && !mayCall(rights, operation) ? (
        <Locked label={title} operation={operation} groupId={groupId} />
      ) : (
        <QueryView query={query} skeletonRows={3}>
          {(data) => (rights.isPending ? <Loading rows={3} /> : children(data))}
        </QueryView>
      )}
    </>
  );
}
