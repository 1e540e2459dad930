import { expect, test } from "vitest";
import { changesOf } from "./changes";

test("only members that differ, and parameters one by one", () => {
  const before = { name: "a", messageFilter: "x > 8", params: '{"url":"https://a","subgroups":true}', tags: [] };
  const after = { name: "a", messageFilter: "x > 6", params: '{"url":"https://b","subgroups":true}', tags: ["t"] };
  expect(changesOf(before, after)).toEqual([
    { name: "messageFilter", before: "x > 8", after: "x > 6" },
    { name: "params.url", before: "https://a", after: "https://b" },
    { name: "tags", before: "[]", after: '["t"]' },
  ]);
});

test("what was created has no before", () => {
  expect(changesOf(null, { name: "a", description: null })).toEqual([{ name: "name", before: null, after: "a" }]);
  expect(changesOf(undefined, undefined)).toEqual([]);
});
