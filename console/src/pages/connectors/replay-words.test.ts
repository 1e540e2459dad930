import { expect, test } from "vitest";
import { estimateWords } from "./replay-words";

test("an estimate says that it is one", () => {
  expect(estimateWords({ lookedAt: 4_310, matches: 3_902, sentBefore: 3_838, isAll: true, estimatedMatches: 3_902 })).toEqual({
    count: "3,902",
    records: "4,310 records, 3,902 pass",
    before: "3,838 were sent before and would go out again under their old ids",
  });
  expect(estimateWords({ lookedAt: 10_000, matches: 500, sentBefore: 250, isAll: false, estimatedMatches: 2_000 })).toEqual({
    count: "about 2,000",
    records: "more than 10,000 records, about 2,000 pass",
    before: "about 1,000 were sent before and would go out again under their old ids",
  });
  const one = estimateWords({ lookedAt: 1, matches: 1, sentBefore: 1, isAll: true, estimatedMatches: 1 });
  expect([one.records, one.before]).toEqual(["1 record, 1 passes", "1 was sent before and would go out again under its old id"]);
  expect(estimateWords({ lookedAt: 3, matches: 0, sentBefore: 0, isAll: true, estimatedMatches: 0 }).before).toBe("");
});
