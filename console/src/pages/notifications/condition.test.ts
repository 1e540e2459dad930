import { expect, it } from "vitest";
import { joinSeconds, splitSeconds } from "~/seconds";
import { EMPTY_CONDITION, conditionOf, conditionParams, conditionWords, expressionOf, missingInCondition } from "./condition";

it.each([
  { measurement: "moisture", below: 15.2, hysteresis: 0.8, for: 1_800, resolveFor: 60 },
  { measurement: "celsius", above: -15, hysteresis: 2, forMessages: 3, staleAfter: 3_600, onStale: "raise" },
  { measurement: "level", above: 0 },
  { condition: "values.a > values.b", resolve: "values.a < 1.0", for: 60 },
])("%j is what it was, from its form", (params) => {
  expect(conditionParams(conditionOf(params))).toEqual(params);
});

it("says at which value it is fine again", () => {
  expect(conditionOf({ measurement: "moisture", below: 15.2, hysteresis: 0.8 }).again).toBe("16");
  expect(conditionOf({ measurement: "celsius", above: -15, hysteresis: 2 }).again).toBe("-17");
  expect(conditionOf({ measurement: "celsius", above: -15 }).again).toBe("");
});

const DRY = { ...EMPTY_CONDITION, measurement: "moisture", direction: "below", limit: "15", again: "16" } as const;

it("becomes an expression", () => {
  expect(expressionOf(DRY)).toEqual({ condition: "values.moisture < 15.0", resolve: "values.moisture >= 16.0" });
  expect(expressionOf({ ...DRY, measurement: "telemetry.rssi", direction: "above", limit: "-0.5", again: "" })).toEqual({ condition: 'values["telemetry.rssi"] > -0.5', resolve: "" });
});

it.each([
  [{}, undefined],
  [{ again: "" }, undefined],
  [{ again: "14" }, "It cannot be back to normal below its limit."],
  [{ direction: "above" as const, again: "16" }, "It cannot be back to normal above its limit."],
  [{ limit: " " }, "It needs a limit."],
  [{ measurement: "" }, "It needs a measurement."],
  [{ mode: "expression" as const }, "It needs a condition."],
])("what is missing of %j", (change, missing) => expect(missingInCondition({ ...DRY, ...change })).toBe(missing));

it("leaves what is no number to the service", () => {
  expect(conditionParams({ ...DRY, limit: "warm" })).toEqual({ measurement: "moisture", below: "warm", hysteresis: "16" });
  expect(conditionParams({ ...DRY, limit: "−15", again: "" })).toEqual({ measurement: "moisture", below: -15 });
});

it("is said as a sentence", () => {
  const moisture = { name: "moisture", label: "Soil moisture", unit: "%" };
  expect(conditionWords({ measurement: "moisture", below: 15, for: 1_800 }, moisture)).toBe("Soil moisture is below 15 % for 30 minutes");
  expect(conditionWords({ measurement: "celsius", above: -15 })).toBe("celsius is above -15");
  expect(conditionWords({ condition: "values.a > 1.0" })).toBe("values.a > 1.0");
});

it.each([
  ["1800", "30", "60"],
  ["5400", "90", "60"],
  ["7200", "2", "3600"],
  ["45", "45", "1"],
  ["", "", "60"],
])("%s seconds", (text, count, unit) => {
  expect(splitSeconds(text)).toEqual({ count, unit });
  expect(joinSeconds(count, unit)).toBe(text);
});
