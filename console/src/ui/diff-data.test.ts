import { expect, test } from "vitest";
import { differencesOf, isSame } from "./diff-data";

test.each([
  [{ name: "a" }, { name: "b" }, [{ field: "name", before: "a", after: "b" }]],
  [{ tags: ["a"], type: "x" }, { tags: ["a", "b"], type: "x" }, [{ field: "tags", before: null, after: "b" }]],
  [{ tags: ["a", "b"] }, { tags: ["b", "a"] }, [{ field: "tags", before: "a, b", after: "b, a" }]],
  [null, { tags: ["a"] }, [{ field: "tags", before: null, after: "a" }]],
  [null, { name: "" }, [{ field: "name", before: null, after: "" }]],
  [{ name: "a" }, null, [{ field: "name", before: "a", after: null }]],
  [{ enabled: true }, { enabled: false }, [{ field: "enabled", before: "true", after: "false" }]],
  [
    { params: '{"url":"https://a","subgroups":true}' },
    { params: '{"url":"https://b","subgroups":true}' },
    [{ field: "params.url", before: "https://a", after: "https://b" }],
  ],
  [{ configuration: "9 minutes" }, { configuration: '{"minutes":9}' }, [{ field: "configuration", before: "9 minutes", after: '{"minutes":9}' }]],
  [{ policy: { a: { b: 1 } } }, { policy: { a: { b: 2 } } }, [{ field: "policy.a.b", before: "1", after: "2" }]],
  [{ policy: {} }, { policy: { a: [1] } }, [{ field: "policy.a", before: null, after: "[1]" }]],
  // A filter is a text, also when it looks like JSON.
  [{ messageFilter: '{"a":1}' }, { messageFilter: '{"a": 1}' }, [{ field: "messageFilter", before: '{"a":1}', after: '{"a": 1}' }]],
  [null, null, []],
])("from %j to %j", (before, after, differences) => {
  expect(differencesOf(before, after)).toEqual(differences);
});

test.each([
  ['{"a":1,"b":2}', '{ "b": 2, "a": 1 }', true],
  ['{"a":1}', '{"a":2}', false],
  [null, undefined, true],
  ["", null, false],
  [["a"], ["a"], true],
  [[], null, true],
  [["a"], ["b"], false],
  [{ a: 1 }, { a: 1 }, true],
  [30, 30, true],
])("%j and %j are the same: %s", (left, right, same) => {
  expect(isSame(left, right)).toBe(same);
});
