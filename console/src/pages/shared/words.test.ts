import { expect, test } from "vitest";
import { parseOrigins, secretOf } from "./words";

test("the secret of a link is its fragment, and nothing else is one", () => {
  expect(secretOf("#lwv_a-b.c_d")).toBe("lwv_a-b.c_d");
  expect(secretOf("#lwr_abc")).toBeNull();
  expect(secretOf("#lwv_abc&x=1")).toBeNull();
  expect(secretOf("")).toBeNull();
});

test("origins stand on lines or between commas", () => {
  expect(parseOrigins(" https://a.example.com/\nhttps://b.example.com, ")).toEqual(["https://a.example.com", "https://b.example.com"]);
  expect(parseOrigins("")).toEqual([]);
});
