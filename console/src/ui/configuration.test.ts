import { expect, test } from "vitest";
import { configurationOf, formOf, knownValues, labelOf, mistakeIn, unitOf } from "./configuration";

const KNOWN = knownValues([
  { name: "meter", defaultConfiguration: '{"reportEverySeconds":3600,"unit":"m3","radio":{"adr":true}}' },
  { name: "tracker", defaultConfiguration: '{"reportEverySeconds":600,"reportOnMove":true}' },
  { name: "old", defaultConfiguration: "period=10" },
]);

test("what types have by default is known by name, kind and type", () => {
  expect(KNOWN).toEqual([
    { name: "reportEverySeconds", kind: "number", example: "3600", types: ["meter", "tracker"] },
    { name: "reportOnMove", kind: "flag", example: "true", types: ["tracker"] },
    { name: "unit", kind: "text", example: "m3", types: ["meter"] },
  ]);
});

test.each([
  {},
  { reportEverySeconds: 300, reportOnMove: false, unit: "l" },
  { reportEverySeconds: "often", removed: null, radio: { adr: false }, note: "", level: 3 },
])("a configuration that nobody changed stays as it is", (configuration) => {
  expect(configurationOf(formOf(configuration, KNOWN))).toEqual(configuration);
});

test("a value of another kind than its type has stays JSON", () => {
  expect(formOf({ reportEverySeconds: "often" }, KNOWN)).toEqual({ values: {}, other: '{\n  "reportEverySeconds": "often"\n}' });
});

test("an empty field sets nothing, and what is no number or no JSON is named", () => {
  const values = { reportEverySeconds: { kind: "number", text: " " } } as const;
  expect(configurationOf({ values, other: "" })).toEqual({});
  expect(mistakeIn({ values: { reportEverySeconds: { kind: "number", text: "often" } }, other: "" })).toBe("Report every is not a number");
  expect(mistakeIn({ values: {}, other: "[1]" })).toBe("Other values are not a JSON object");
  expect(mistakeIn({ values, other: "" })).toBeNull();
});

test.each([
  ["reportEverySeconds", "Report every", "s"],
  ["lowCelsius", "Low", "°C"],
  ["pulses_per_unit", "Pulses per unit", undefined],
])("a name is shown as words, with its unit apart", (name, label, unit) => {
  expect([labelOf(name), unitOf(name)]).toEqual([label, unit]);
});
