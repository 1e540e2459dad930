import { expect, test } from "vitest";
import { differencesOf } from "./differences";

test.each([
  [{ name: "a" }, { name: "b" }, [{ field: "name", before: "a", after: "b" }]],
  [{ tags: ["a"], type: "x" }, { tags: ["a", "b"], type: "x" }, [{ field: "tags", before: '["a"]', after: '["a","b"]' }]],
  [null, { name: "" }, [{ field: "name", before: null, after: "" }]],
  [{ name: "a" }, null, [{ field: "name", before: "a", after: null }]],
  [{ enabled: true }, { enabled: false }, [{ field: "enabled", before: "true", after: "false" }]],
  [null, null, []],
])("from %j to %j", (before, after, differences) => {
  expect(differencesOf(before, after)).toEqual(differences);
});
