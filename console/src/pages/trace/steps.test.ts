import { expect, test } from "vitest";
import { isNetwork, offsetText, prettyJson } from "./steps";

test.each([
  [1_000, 1_000, "+ 0 ms"],
  [1_003.4, 1_000, "+ 3 ms"],
  [1_410, 1_000, "+ 410 ms"],
  [3_410, 1_000, "+ 2.41 s"],
  [253_000, 1_000, "+ 4 min 12 s"],
  [7_201_000, 1_000, "+ 2.0 h"],
  [500, 1_000, "− 500 ms"],
  [null, 1_000, ""],
])("%s after %s", (moment, first, text) => {
  expect(offsetText(moment, first)).toBe(text);
});

test("what is no JSON is shown as it is", () => {
  expect(prettyJson("a=1")).toBe("a=1");
  expect(prettyJson('{ "a":[1,2],"b":"{ x }" }')).toBe('{"a": [1, 2], "b": "{ x }"}');
  expect(prettyJson('{"a":1,"b":2}', 5)).toBe('{\n  "a": 1,\n  "b": 2\n}');
});

test("the API is no network", () => {
  expect([isNetwork("api"), isNetwork("chirpstack")]).toEqual([false, true]);
});
