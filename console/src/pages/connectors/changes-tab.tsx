import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { Button } from "~/ui/button";
import { Empty, QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { changesOf } from "./changes";
import type { Connector } from "./queries";

const PAGE = 50;

export function ChangesTab({ connector }: { connector: Connector }) {
  const { groupId, id } = connector;
  const query = useInfiniteQuery({
    queryKey: ["audit", groupId, "object", id],
    queryFn: ({ signal, pageParam }) =>
      read(api.GET("/group/audit", { params: { query: { groupId, objectId: id, limit: PAGE, ...(pageParam ? { nextToken: pageParam } : {}) } }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextToken ?? undefined,
  });
  return (
    <QueryView query={query} operation="GET /group/audit" groupId={groupId} noun="audit log">
      {({ pages }) => {
        const entries = pages.flatMap((page) => page.items);
        if (entries.length === 0) return <Empty text="No change of this connector is in the audit log any more." />;
        return (
          <>
            <ul className="changes">
              {entries.map((entry) => (
                <li key={entry.id} className="change">
                  <div>
                    <TimeText at={entry.timestamp} /> · <strong>{entry.actorName ?? entry.actorId}</strong>{" "}
                    <span className="ink-2">
                      {entry.action} {entry.detail ?? ""}
                    </span>
                  </div>
                  {entry.before &&
                    changesOf(entry.before as Record<string, unknown>, entry.after as Record<string, unknown> | null).map((change) => (
                      <div key={change.name} className="change-line">
                        <span className="ink-2">{change.name}</span>
                        {change.before !== null && <del>− {change.before}</del>}
                        {change.after !== null && <ins>+ {change.after}</ins>}
                      </div>
                    ))}
                </li>
              ))}
            </ul>
            <div className="form-actions">
              {query.hasNextPage && <Button onClick={() => void query.fetchNextPage()}>Show more</Button>}
              <Link to="/g/$groupId/audit" params={{ groupId }} className="button button-quiet">
                Audit log of the group
              </Link>
            </div>
          </>
        );
      }}
    </QueryView>
  );
}
