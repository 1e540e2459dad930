// The page that lists what a group has of one sort: searched in one box, opened with a click, and a button
// for a new one where it may be made.
import type { ReactNode } from "react";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { mayCall, useRights } from "~/api/may";
import type { Operation } from "~/api/permissions";
import { groupQuery } from "~/api/queries";
import { Button } from "./button";
import { PageHeader } from "./page";
import { SearchedList, type Searched } from "./searched-list";
import { Empty, QueryView } from "./state";
import { Locked } from "./why";
import { t } from "~/messages/ui";

export interface ListPageProps<Row extends { id: string }> extends Omit<Searched<Row>, "all" | "onQ" | "q"> {
  groupId: string;
  title: string;
  query: UseQueryResult<readonly Row[]>;
  // What is listed of what was loaded, where that is not all and only it.
  rows?: (loaded: readonly Row[]) => readonly Row[];
  readOperation: Operation;
  createOperation: Operation;
  newPage: "/g/$groupId/contact-points/new" | "/g/$groupId/notifications/new" | "/g/$groupId/reports/new";
  newLabel: string;
  // What there would be, while there is nothing.
  empty: { text: ReactNode; create: string; curl: string };
  q: string | undefined;
}

export function ListPage<Row extends { id: string }>({ groupId, title, query, rows = (loaded) => loaded, readOperation, createOperation, newPage, newLabel, empty, q, ...list }: ListPageProps<Row>) {
  const navigate = useNavigate();
  const rights = useRights(groupId);
  const group = useQuery(groupQuery(groupId));
  const mayCreate = mayCall(rights, createOperation);
  const setQ = (text: string) => void navigate({ to: ".", search: (before: object) => ({ ...before, q: text || undefined }), replace: true } as never);
  const create = () => void navigate({ to: newPage, params: { groupId } });
  const action = mayCreate ? (
    <Button look="primary" onClick={create}>
      {newLabel}
    </Button>
  ) : (
    <Locked label={newLabel} operation={createOperation} groupId={groupId} />
  );
  return (
    <>
      <PageHeader title={title} above={group.data?.name} actions={rights.isKnown && action} />
      <QueryView query={query} operation={readOperation} groupId={groupId} noun={t("group")}>
        {(loaded) => {
          const all = rows(loaded);
          return all.length === 0 ? (
            <Empty text={empty.text} curl={empty.curl} action={mayCreate && <Button writes onClick={create}>{empty.create}</Button>} />
          ) : (
            <SearchedList all={all} q={q ?? ""} onQ={setQ} {...list} />
          );
        }}
      </QueryView>
    </>
  );
}
