import { describe, expect, test } from "vitest";
import { nextPath, parseLink } from "./next";

describe("where to go after signing in", () => {
  test.each([
    ["/g/12/devices?q=a", "/g/12/devices?q=a"],
    [undefined, "/"],
    ["", "/"],
    ["https://elsewhere.example/", "/"],
    ["//elsewhere.example/", "/"],
    ["/\\elsewhere.example/", "/"],
    ["/a\nb", "/"],
    ["javascript:alert(1)", "/"],
    ["/sign-in?next=/sign-in", "/"],
  ])("%s", (given, path) => {
    expect(nextPath(given)).toBe(path);
  });
});

test.each([
  ["#link=lwl_abcdefgh", { purpose: "link", secret: "lwl_abcdefgh" }],
  ["#reset=lwl_abcdefgh", { purpose: "reset", secret: "lwl_abcdefgh" }],
  ["#other=lwl_abcdefgh", null],
  ["#link=", null],
  ["", null],
])("a link in the fragment: %s", (fragment, link) => {
  expect(parseLink(fragment)).toEqual(link);
});
