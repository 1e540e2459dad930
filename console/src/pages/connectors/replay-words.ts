import type { Schemas } from "~/api/client";

export interface EstimateWords {
  readonly count: string;
  readonly records: string;
  readonly before: string;
}

// "4,310 records, 3,902 match"; "3,838 were sent before and would go out again under their old id".
export function estimateWords(found: Schemas["ReplayPreview"]): EstimateWords {
  const about = found.isAll ? "" : "about ";
  const count = `${about}${found.estimatedMatches.toLocaleString("en")}`;
  const looked = found.isAll ? `${found.lookedAt.toLocaleString("en")} records` : `more than ${found.lookedAt.toLocaleString("en")} records`;
  const share = found.matches ? found.sentBefore / found.matches : 0;
  const before = found.isAll ? found.sentBefore : Math.round(share * found.estimatedMatches);
  return {
    count,
    records: `${looked}, ${count} ${found.estimatedMatches === 1 ? "passes" : "pass"}`,
    before: before ? `${about}${before.toLocaleString("en")} were sent before and would go out again under their old id` : "",
  };
}
