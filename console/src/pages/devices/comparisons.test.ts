import { expect, it } from "vitest";
import type { NamedMeasurement } from "~/measurements/group-measurements";
import { comparisonOf, comparisonWords, operationsOf, withoutComparison } from "./comparisons";
import { devicesSearch, valuesOf } from "./search";

const MOISTURE: NamedMeasurement = { name: "moisture", label: "Soil moisture", unit: "%", class: "gauge", isDeclared: true, devices: 3, types: ["soil"] };
const KNOWN = new Map([["moisture", MOISTURE]]);

it.each([
  ["below", "15", "moisture<15", "Soil moisture below 15 %"],
  ["above", " 1.5 ", "moisture>1.5", "Soil moisture above 1.5 %"],
  ["is", "Yes", "moisture==true", "Soil moisture is yes"],
  ["is-not", "open", "moisture!=open", "Soil moisture is not open"],
  ["older", "", "moisture@<now-1d", "Soil moisture is older than 1 day"],
  ["missing", "", "moisture==null", "Soil moisture is missing"],
  ["there", "", "moisture!=null", "Soil moisture is there"],
] as const)("%s %s is %s", (operation, value, comparison, words) => {
  expect(comparisonOf("moisture", operation, value, "1d")).toBe(comparison);
  expect(comparisonWords(comparison, KNOWN)).toBe(words);
});

it("compares nothing with nothing, and words with words only", () => {
  expect(comparisonOf("moisture", "below", " ", "1d")).toBe(null);
  expect(operationsOf("state")).not.toContain("below");
  expect(operationsOf("gauge")).not.toContain("is-not");
  expect(comparisonWords("what is this", KNOWN)).toBe("what is this");
});

it("keeps an age in the address, and asks for a date", () => {
  const search = devicesSearch({ where: ["moisture@<now-1d", "moisture<15"], values: "moisture", sort: "value:moisture", order: "desc" });
  expect(valuesOf(search, Date.UTC(2026, 1, 2))).toEqual({
    values: "moisture",
    where: ["moisture@<2026-02-01T00:00:00.000Z", "moisture<15"],
    order: "value:moisture",
    descending: true,
  });
  expect(withoutComparison(search, "moisture<15")).toEqual({ where: ["moisture@<now-1d"] });
  expect(valuesOf(devicesSearch({ sort: "name" }), 0)).toEqual({ values: undefined, where: undefined });
});
