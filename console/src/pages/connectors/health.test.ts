import { expect, test } from "vitest";
import { countText, percent, stateOf, totalsOf } from "./health";

const FINE = { failures: 0, waiting: 0, heldBack: 0, rateLimited: 0, deadLetters: 0 };
type Given = Parameters<typeof stateOf>[0];

test.each<[Given, Parameters<typeof stateOf>[1], string, string]>([
  [{ enabled: true, updatedBy: "usr_1" }, FINE, "good", "forwarding"],
  [{ enabled: true, updatedBy: "usr_1" }, undefined, "idle", "not known"],
  [{ enabled: false, updatedBy: "usr_1" }, FINE, "idle", "disabled"],
  [{ enabled: false, updatedBy: "system" }, FINE, "bad", "stopped by its receiver"],
  [{ enabled: true, updatedBy: "usr_1" }, { ...FINE, failures: 1 }, "warn", "last attempt failed"],
  [{ enabled: true, updatedBy: "usr_1" }, { ...FINE, failures: 1200, deadLetters: 4 }, "bad", "failing, 1,200 in a row"],
  [{ enabled: true, updatedBy: "usr_1", filterFailing: { since: "", failed: 86, evaluated: 100 } }, { ...FINE, deadLetters: 4 }, "warn", "filter fails for 86 of 100"],
  [{ enabled: true, updatedBy: "usr_1" }, { ...FINE, deadLetters: 4 }, "warn", "has dead letters"],
  [{ enabled: true, updatedBy: "usr_1" }, { ...FINE, waiting: 40, rateLimited: 30 }, "warn", "at its rate limit"],
  [{ enabled: true, updatedBy: "usr_1", dataFailurePolicy: { resending: true } }, FINE, "warn", "resending"],
])("state of %j with %j", (connector, health, tone, label) => {
  expect(stateOf(connector, health)).toMatchObject({ tone, label });
});

test("totals are about what has ended", () => {
  const timestamp = "2026-11-15T08:00:00Z";
  expect(totalsOf([{ timestamp, made: 5, succeeded: 3, failed: 1, retried: 2 }, { timestamp }])).toEqual({
    made: 5,
    succeeded: 3,
    failed: 1,
    retried: 2,
    delivered: 0.75,
    attemptsPerMessage: 1.5,
  });
  expect(totalsOf([]).delivered).toBeNull();
});

test.each([
  [null, "–"],
  [1, "100 %"],
  [0.99999, "99.99 %"],
  [0.5, "50.0 %"],
  [0, "0.0 %"],
])("percent of %s", (share, text) => {
  expect(percent(share)).toBe(text);
});

test("counts that are capped say so", () => {
  expect([countText(9_999), countText(10_000)]).toEqual(["9,999", "10,000+"]);
});
