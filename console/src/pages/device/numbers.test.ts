import { expect, test } from "vitest";
import { findNumbers, seriesOf, valueAt } from "./numbers";

test("every number of the data is found once, wherever it is", () => {
  const data = ['{"celsius":4.5,"door":"open","deep":{"a/b":1}}', '{"celsius":5,"isOpen":true,"list":[7,"x"]}', "no JSON", "12"].map((each) => ({ data: each }));
  expect(findNumbers(data, []).map((each) => [each.kind, each.path, each.label])).toEqual([
    ["data", "/data/celsius", "celsius"],
    ["data", "/data/deep/a~1b", "deep.a/b"],
    ["data", "/data/isOpen", "isOpen"],
    ["data", "/data/list/0", "list.0"],
    ["data", "/data", "data"],
  ]);
});

test("what a decoder has added comes first", () => {
  const data = [{ data: '{"port":2,"rssi":-80,"level":{"mm":64}}', decodedNames: ["level"] }];
  expect(findNumbers(data, []).map((each) => each.label)).toEqual(["level.mm", "port", "rssi"]);
});

test("what the network says of the transmission comes last", () => {
  const data = [{ data: '{"radio":{"port":2},"celsius":4.5}' }];
  expect(findNumbers(data, []).map((each) => each.label)).toEqual(["celsius", "radio.port"]);
});

test("telemetry has its score and its stations", () => {
  expect(findNumbers([], [{ score: 80 }, { nbBS: null }]).map((each) => each.id)).toEqual(["telemetry/score"]);
});

test("what is no series of an address is none", () => {
  expect(seriesOf("celsius")).toBeNull();
  expect(seriesOf("data/data/celsius")).toEqual({ id: "data/data/celsius", kind: "data", path: "/data/celsius", label: "celsius" });
});

test.each([
  [{ a: { "b/c": [1, 2] } }, "/a/b~1c/1", 2],
  [{ a: null }, "/a", null],
  [{ a: null }, "/a/b", undefined],
  [null, "/a", undefined],
])("in %j at %s is %j", (object, pointer, value) => {
  expect(valueAt(object, pointer)).toBe(value);
});
