import { describe, expect, it } from "vitest";
import type { Schemas } from "~/api/client";
import { attentionWords, changeOf, deliveredPercent, figure } from "./words";

describe("attentionWords", () => {
  it.each<[Schemas["Attention"], string]>([
    [{ what: "connectorFailing", groupId: "1", name: "To the cellar" }, "To the cellar"],
    [{ what: "deadLetters", groupId: "1", name: "To the cellar", count: 1 }, "To the cellar: 1 delivery kept for a resend"],
    [{ what: "filterFailing", groupId: "1", name: "Warm goods", count: 86, total: 100 }, "Warm goods: not evaluated for 86 of 100 records"],
    [{ what: "conditionFailing", groupId: "1", count: 1, total: 1 }, "A filter: not evaluated for 1 of 1 record"],
    [{ what: "devicesSilent", groupId: "1", count: 1_200 }, "1,200 devices in Quay 3"],
    [{ what: "batteryLow", groupId: "1", count: 1 }, "1 device in Quay 3 below 20 %"],
    [{ what: "unknownDevices", groupId: "1", count: 3 }, "3 unknown devices reported in Quay 3"],
    [{ what: "rejectedMessages", groupId: "1", count: 1 }, "Uplinks of 1 device in Quay 3 could not be read"],
    [{ what: "configurationDrift", groupId: "1", count: 2 }, "2 devices report another configuration in Quay 3"],
  ])("%j", (item, title) => {
    expect(attentionWords(item, "Quay 3").title).toBe(title);
  });
});

it.each([
  [103, 100, "+3 %"],
  [97, 100, "−3 %"],
  [100, 100, "±0 %"],
  [5, 0, null],
])("%i after %i", (now, before, words) => {
  expect(changeOf(now, before)).toBe(words);
});

it.each([
  [9_999, 0, "100 %"],
  [99_999, 1, "99.99 %"],
  [0, 3, "0 %"],
  [0, 0, null],
])("%i delivered and %i failed", (succeeded, failed, words) => {
  expect(deliveredPercent(succeeded, failed)).toBe(words);
});

it("shortens millions only", () => {
  expect([figure(0), figure(999_999), figure(1_043_211)]).toEqual(["0", "999,999", "1.04 M"]);
});
