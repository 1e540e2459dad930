import { expect, test } from "vitest";
import { choiceParam, flagParam, listParam, parseSearch, stringifySearch, textParam } from "./search";

test("an address comes back as it was written", () => {
  const address = "?type=tracker&tag=port&tag=dairy&q=1e5";
  expect(stringifySearch(parseSearch(address))).toBe(address);
});

test("empty, false and absent values leave no trace", () => {
  expect(stringifySearch({ q: "", tag: [], all: false, type: undefined, n: 0 })).toBe("?n=0");
});

test("a value is read as what a screen expects", () => {
  const search = parseSearch("?q=a&q=b&all=true&sort=sideways");
  expect(textParam(search, "q")).toBe("a");
  expect(listParam(search, "q")).toEqual(["a", "b"]);
  expect(flagParam(search, "all")).toBe(true);
  expect(choiceParam(search, "sort", ["name", "battery"])).toBeUndefined();
});
