import type { Schemas } from "~/api/client";

export interface EstimateWords {
  readonly count: string;
  readonly records: string;
  readonly before: string;
}

// "4,310 records, 3,902 match"; "3,838 were sent before and would go out again under their old ids".
export function estimateWords(found: Schemas["ReplayPreview"]): EstimateWords {
  const about = found.isAll ? "" : "about ";
  const count = `${about}${found.estimatedMatches.toLocaleString("en")}`;
  const looked = `${found.isAll ? "" : "more than "}${found.lookedAt.toLocaleString("en")} ${found.lookedAt === 1 ? "record" : "records"}`;
  const share = found.matches ? found.sentBefore / found.matches : 0;
  const before = found.isAll ? found.sentBefore : Math.round(share * found.estimatedMatches);
  return {
    count,
    records: `${looked}, ${count} ${found.estimatedMatches === 1 ? "passes" : "pass"}`,
    before: before ? `${about}${before.toLocaleString("en")} ${before === 1 ? "was sent before and would go out again under its old id" : "were sent before and would go out again under their old ids"}` : "",
  };
}
