import { expect, it } from "vitest";
import { ApiProblem } from "~/api/client";
import { fieldsOf } from "~/pages/connectors/schema-form";
import { addressErrors, bodyOf, changesOf, emptyForm, formOf, isComplete, otherErrors, webhookFields, type Content } from "./form";
import type { Report } from "./queries";

const FIELDS = webhookFields(fieldsOf('{"required":["url"],"properties":{"url":{"type":"string"},"secret":{"type":"string","format":"password"},"topic":{"type":"string"}}}'));

function report(content: Content, parameters: Record<string, unknown>, to: Report["to"] = { type: "email", params: { to: ["ada@example.com"] } }) {
  return { name: "Cold rooms", content, parameters, every: "day" as const, at: "06:00", timezone: "Europe/Paris", format: "xlsx" as const, to };
}

it.each<[Content, Record<string, unknown>]>([
  ["records", { kind: "event", subgroups: true, deviceId: "dev_1", values: "celsius,door" }],
  ["records", { kind: "data", deviceId: "dev_1", dates: "arrival", fields: "timestamp,data" }],
  ["series", { measurement: "celsius", combine: "percentile", percentile: 95, tags: ["cold", "roof"], deviceId: ["dev_1", "dev_2"] }],
  ["series", { measurement: "celsius" }],
  ["devices", { type: "meter", tag: "roof", batteryBelow: 20, where: ["celsius>5"] }],
  ["alarms", { state: "open", severity: "critical", silenceId: "sil_1" }],
  ["alarms", {}],
])("a report of %s with %j is what it was, from its form", (content, parameters) => {
  const given = report(content, parameters);
  expect(bodyOf(formOf(given, FIELDS), FIELDS)).toEqual(given);
});

it("is sent to a webhook with what is stored of its secrets", () => {
  const given = report("devices", {}, { type: "webhook", params: { url: "https://example.com", secret: "********" } });
  expect(bodyOf(formOf(given, FIELDS), FIELDS)).toEqual(given);
});

it("sends what was changed alone", () => {
  const before = formOf(report("series", { combine: "none", measurement: "celsius" }), FIELDS);
  expect(changesOf({ ...before, name: "Warm rooms" }, before, FIELDS)).toEqual({ name: "Warm rooms" });
  expect(changesOf({ ...before, percentile: "95" }, before, FIELDS)).toEqual({});
  expect(changesOf({ ...before, addresses: "ada@example.com; bob@example.com\n" }, before, FIELDS)).toEqual({ to: { type: "email", params: { to: ["ada@example.com", "bob@example.com"] } } });
});

it("says what is missing", () => {
  const filled = { ...emptyForm("UTC"), name: "Cold rooms", measurement: "celsius", addresses: "ada@example.com" };
  expect(isComplete(filled, FIELDS)).toBeUndefined();
  expect(isComplete({ ...filled, measurement: " " }, FIELDS)).toMatch(/measurement/);
  expect(isComplete({ ...filled, combine: "percentile" }, FIELDS)).toMatch(/percentile/);
  expect(isComplete({ ...filled, addresses: " ,; " }, FIELDS)).toMatch(/address/);
  expect(isComplete({ ...filled, to: "webhook" }, FIELDS)).toMatch(/destination/);
});

it("names the addresses that are wrong, and parameters that have no field", () => {
  const fields = [
    { in: "body", field: "to.params.to[1]", message: "must be an e-mail address" },
    { in: "body", field: "parameters.where[0]", message: "is invalid" },
    { in: "body", field: "parameters.measurement", message: "is unknown" },
  ];
  const problem = new ApiProblem({ status: 400, code: "validation_failed", detail: "", fields });
  expect(addressErrors(problem, "ada@example.com, bob")).toBe("bob must be an e-mail address.");
  expect(otherErrors(problem, "devices")).toEqual(["where[0]: is invalid", "measurement: is unknown"]);
  expect(otherErrors(problem, "series")).toEqual(["where[0]: is invalid"]);
});
