// The changes of one object, newest first: who, when, and what the fields were before and after.
import { useInfiniteQuery } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { Button } from "~/ui/button";
import { Empty, ErrorState, Loading } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { differencesOf } from "./differences";
import "./audit.css";

function Entry({ entry }: { entry: Schemas["AuditEntry"] }) {
  const differences = differencesOf(entry.before, entry.after);
  return (
    <li className="change">
      <p>
        <TimeText at={entry.timestamp} withAgo /> <strong>{entry.actorName ?? entry.actorId}</strong> <code>{entry.action}</code>
        {entry.detail && <span className="ink-2"> {entry.detail}</span>}
      </p>
      {differences.length > 0 && (
        <dl className="change-fields">
          {differences.map((each) => (
            <div key={each.field}>
              <dt>{each.field}</dt>
              <dd>
                {each.before !== null && <del>{each.before || "(empty)"}</del>} {each.after !== null && <ins>{each.after || "(empty)"}</ins>}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {entry.omittedFields?.length ? <p className="ink-2">Not shown: {entry.omittedFields.join(", ")}</p> : null}
    </li>
  );
}

export function ObjectChanges({ groupId, objectId, noun }: { groupId: string; objectId: string; noun: string }) {
  const query = useInfiniteQuery({
    queryKey: ["audit", groupId, objectId],
    queryFn: ({ pageParam, signal }) =>
      read(api.GET("/group/audit", { params: { query: { groupId, objectId, limit: 100, nextToken: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextToken ?? undefined,
  });
  if (!query.data)
    return query.isError ? (
      <ErrorState error={query.error} onRetry={() => void query.refetch()} operation="GET /group/audit" groupId={groupId} noun={noun} />
    ) : (
      <Loading rows={4} />
    );
  const entries = query.data.pages.flatMap((page) => page.items);
  return (
    <>
      {entries.length > 0 ? (
        <ol className="changes">
          {entries.map((entry) => (
            <Entry key={entry.id} entry={entry} />
          ))}
        </ol>
      ) : (
        !query.hasNextPage && <Empty text={`Nobody has changed this ${noun} as far back as the audit log goes.`} />
      )}
      {query.hasNextPage && (
        <p>
          <Button onClick={() => void query.fetchNextPage()} disabledReason={query.isFetchingNextPage ? "Looking" : undefined}>
            Look further back
          </Button>
        </p>
      )}
    </>
  );
}
