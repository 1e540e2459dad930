import { infiniteQueryOptions, keepPreviousData } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { isRelative, spanOf, type TimeRange } from "~/time";
import type { AuditFilter } from "./search";
import type { AuditEntry } from "./undo";

const PAGE = 200;
const REFRESH_MS = 15_000;
// A page of the service reads 2,000 entries, of which few may match; so many pages are one of ours.
const PAGES_MAX = 5;

interface Period {
  readonly beginDate?: string;
  readonly endDate?: string;
}

interface AuditPage {
  items: AuditEntry[];
  nextToken: string | undefined;
  // Tokens belong to the parameters they were made with.
  period: Period;
}

// A request is looked for at any time, everything else in the range of the page.
export function periodOf(filter: AuditFilter, range: TimeRange): Period {
  if (filter.requestId !== undefined) return {};
  const span = spanOf(range, Date.now());
  const begin = { beginDate: new Date(span.begin).toISOString() };
  return range.to === "now" ? begin : { ...begin, endDate: new Date(span.end).toISOString() };
}

export function auditQuery(groupId: string, filter: AuditFilter, range: TimeRange) {
  return infiniteQueryOptions({
    queryKey: ["audit", groupId, "list", filter, range],
    queryFn: async ({ pageParam, signal }): Promise<AuditPage> => {
      const period = pageParam?.period ?? periodOf(filter, range);
      const found: AuditPage = { items: [], nextToken: pageParam?.token, period };
      for (let pages = 0; pages < PAGES_MAX && found.items.length < PAGE / 2; pages += 1) {
        const query = { groupId, ...filter, ...period, limit: PAGE, nextToken: found.nextToken };
        const page = await read(api.GET("/group/audit", { params: { query }, signal }));
        found.items.push(...page.items);
        found.nextToken = page.nextToken ?? undefined;
        if (!found.nextToken) break;
      }
      return found;
    },
    initialPageParam: undefined as { token: string; period: Period } | undefined,
    getNextPageParam: (page) => (page.nextToken ? { token: page.nextToken, period: page.period } : undefined),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (isRelative(range) && (query.state.data?.pages.length ?? 0) <= 1 ? REFRESH_MS : false),
  });
}
