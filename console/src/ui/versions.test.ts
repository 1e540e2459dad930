import { expect, test } from "vitest";
import { differing, mergeForms } from "./versions";

const BASE = { name: "To the lake", filter: "", values: { url: "https://a.example" } as Record<string, string> };

test("both versions in one: mine where I changed it, theirs where they did", () => {
  const mine = { ...BASE, filter: "true", values: { url: "https://a.example", secret: "mine" } };
  const theirs = { ...BASE, name: "To the sea", values: { url: "https://b.example" } };
  expect(mergeForms(BASE, mine, theirs)).toEqual({ name: "To the sea", filter: "true", values: { url: "https://b.example", secret: "mine" } });
});

test("where both changed it, mine stays, also when I emptied it", () => {
  const theirs = { ...BASE, name: "To the sea", values: { url: "https://b.example" } };
  expect(mergeForms(BASE, { ...BASE, name: "", values: { url: "" } }, theirs)).toEqual({ name: "", filter: "", values: { url: "" } });
});

test("a field that was empty and is now named without a value is not changed", () => {
  const theirs = { ...BASE, values: { url: "https://a.example", secret: "theirs" } };
  expect(mergeForms(BASE, { ...BASE, values: { ...BASE.values, secret: "" } }, theirs).values.secret).toBe("theirs");
});

test("only what differs is shown, and space around it is no difference", () => {
  const name = { label: "Name", mine: "To the lake", theirs: "To the sea" };
  expect(differing([name, { label: "Filter", mine: "true ", theirs: "true" }])).toEqual([name]);
});

test("a field that the newer version no longer has goes with it, unless I changed it", () => {
  const base = { values: { silentAfterSeconds: { text: "60" } } as Record<string, { text: string }>, other: "" };
  expect(mergeForms(base, base, { values: {}, other: "" })).toEqual({ values: {}, other: "" });
  const mine = { ...base, values: { silentAfterSeconds: { text: "90" } } };
  expect(mergeForms(base, mine, { values: {}, other: "" })).toEqual(mine);
});
