import { expect, test } from "vitest";
import { countPreview, curlOfRequest, mistakeIn, requestText, verdictOf, type PreviewItem } from "./preview";

test.each([
  [true, true, "yes"],
  [true, false, "now"],
  [false, true, "no longer"],
  [false, false, "no"],
  [true, undefined, "yes"],
  [false, undefined, "no"],
])("passes %s, before %s", (matches, matchedBefore, label) => {
  expect(verdictOf({ matches, matchedBefore }).label).toBe(label);
});

const item = (code: PreviewItem["code"], reason: string, matchedBefore?: boolean): PreviewItem => ({
  deviceId: "dev_1",
  kind: "data",
  timestamp: "",
  matches: code === undefined,
  reason,
  ...(code === undefined ? {} : { code }),
  ...(matchedBefore === undefined ? {} : { matchedBefore }),
});

test("records that a filter fails for are counted by reason", () => {
  const missing = "there is no message.data.celsius";
  const items = [
    item(undefined, "", false),
    item("filter_false", "in any words", true),
    item("device_type", "in any words", false),
    item("invalid_message", missing, false),
    item("filter_failed", "division by zero", false),
    item("filter_failed", missing, false),
    item("filter_failed", missing, false),
  ];
  expect(countPreview(items)).toEqual({
    total: 7,
    pass: 1,
    passedBefore: 1,
    errors: [
      [missing, 2],
      ["division by zero", 1],
    ],
    missing: [],
  });
  expect(countPreview([item(undefined, "")]).passedBefore).toBeNull();
});

test("records that lack a field of the filter are counted by the field", () => {
  const lacks = (missingField: string): PreviewItem => ({ ...item("filter_false", "in any words"), missingField });
  const items = [lacks("message.data.b"), lacks("message.data.a"), item("filter_false", "in any words"), lacks("message.data.a")];
  expect(countPreview(items).missing).toEqual([
    ["message.data.a", 2],
    ["message.data.b", 1],
  ]);
});

test.each([
  ["message.data.celsius >", "line 1, column 23: unexpected end", { line: 1, column: 23, text: "unexpected end", before: "message.data.celsius >", at: " ", after: "" }],
  ["a &&\n  nope(1)", "line 2, column 3: unknown function nope()", { line: 2, column: 3, text: "unknown function nope()", before: "  ", at: "nope", after: "(1)" }],
  ["a", "is too long", null],
  ["a", undefined, null],
])("the place of a mistake in %j", (expression, message, mistake) => {
  expect(mistakeIn(expression, message)).toEqual(mistake);
});

test("a request as text and as a command", () => {
  const request = { method: "POST", url: "https://a.example/in?x=1", headers: { "webhook-id": "msg_1" }, body: "{\"a\":\"it's\"}" };
  expect(requestText(request)).toBe("POST /in?x=1 HTTP/1.1\nHost: a.example\nwebhook-id: msg_1\n\n{\"a\":\"it's\"}");
  expect(curlOfRequest(request)).toBe("curl -X POST 'https://a.example/in?x=1' \\\n  -H 'webhook-id: msg_1' \\\n  --data-binary '{\"a\":\"it'\\''s\"}'");
  const publish = { ...request, method: "PUBLISH", url: "mqtt://b:1883/topic" };
  expect(curlOfRequest(publish)).toBeNull();
  expect(requestText(publish).split("\n")[0]).toBe("PUBLISH mqtt://b:1883/topic");
});
