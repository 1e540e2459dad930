// The changes of one object, newest first: who, when, and what the fields were before and after.
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, read, type Schemas } from "~/api/client";
import { Button } from "~/ui/button";
import { Empty, ErrorState, Loading } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { Diff } from "~/ui/diff";
import { actionWords } from "./actions";
import { t } from "~/messages/audit";
import "./audit.css";

function Entry({ entry }: { entry: Schemas["AuditEntry"] }) {
  const words = actionWords(entry.action);
  return (
    <li className="change">
      <p>
        <TimeText at={entry.timestamp} withAgo /> <strong>{entry.actorName ?? entry.actorId}</strong> <span title={entry.action}>{words.endsWith(" of") ? t("wordsIt", { words }) : words}</span>
        {entry.detail && <span className="ink-2"> · {entry.detail}</span>}{" "}
        <Link to="/g/$groupId/audit" params={{ groupId: entry.groupId }} search={{ request: entry.requestId, entry: entry.id }}>
          {t("InAuditLog")}
        </Link>
      </p>
      <Diff before={entry.before} after={entry.after} omitted={entry.omittedFields} />
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
        !query.hasNextPage && <Empty text={t("NobodyHasChangedThisNounAs", { noun })} />
      )}
      {query.hasNextPage && (
        <p>
          <Button onClick={() => void query.fetchNextPage()} disabledReason={query.isFetchingNextPage ? t("Looking") : undefined}>
            {t("LookFurtherBack")}
          </Button>
        </p>
      )}
    </>
  );
}
