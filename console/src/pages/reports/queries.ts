import { queryOptions, type QueryClient } from "@tanstack/react-query";
import { ApiProblem, api, read, type Schemas } from "~/api/client";
import { fetchNewest } from "~/api/queries";
import { t } from "~/messages/reports";

type Wire = Schemas["Report"];
type Change = Omit<Schemas["UpdateReportInput"], "parameters" | "to"> & Partial<Pick<Report, "parameters" | "to">>;

// What the document leaves open has any members, which its types say as none.
export type Report = Omit<Wire, "parameters" | "to"> & {
  readonly parameters: Record<string, unknown>;
  readonly to: { readonly type: string; readonly params: Record<string, unknown> };
};

function typed(answer: Promise<Wire>): Promise<Report> {
  return answer as Promise<unknown> as Promise<Report>;
}

const PAGE_ITEMS = 1_000;

export function reportsQuery(groupId: string, subgroups = false) {
  return queryOptions({
    queryKey: ["reports", groupId, subgroups],
    // A group has 50 at most, unless the operator allows more. What becomes of each is in the list.
    queryFn: async ({ signal }) => (await read(api.GET("/group/reports", { params: { query: { groupId, subgroups, limit: PAGE_ITEMS } }, signal }))).items as readonly unknown[] as readonly Report[],
    refetchInterval: 15_000,
  });
}

export function noReport(): ApiProblem {
  return new ApiProblem({ status: 404, code: "not_found", detail: t("ThereIsNoSuchReport") });
}

export function findReport(reports: readonly Report[], reportId: string): Report {
  const found = reports.find((each) => each.id === reportId);
  if (!found) throw noReport();
  return found;
}

export async function fetchReport(groupId: string, reportId: string): Promise<Report> {
  return findReport(await fetchNewest(reportsQuery(groupId)), reportId);
}

export function createReport(body: Pick<Report, "groupId" | "content" | "parameters" | "every" | "at" | "timezone" | "format" | "to"> & { name: string }): Promise<Report> {
  return typed(read(api.POST("/report", { body: body as unknown as Schemas["ReportInput"] })));
}

export function updateReport(body: Change): Promise<Report> {
  return typed(read(api.PUT("/report", { body: body as unknown as Schemas["UpdateReportInput"] })));
}

export function refreshReport(client: QueryClient, changed: Report): void {
  // In the list of its group, and in those of groups above.
  const queryKey = ["reports"];
  client.setQueriesData({ queryKey }, (before: readonly Report[] | undefined) => before?.map((each) => (each.id === changed.id ? changed : each)));
  // A list that lacks what was created meanwhile is loaded when it is shown: new data made it look fresh.
  void client.invalidateQueries({ queryKey, refetchType: "none" });
}
