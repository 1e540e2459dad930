import { describe, expect, test } from "vitest";
import { ApiProblem } from "~/api/client";
import { MASK, fieldsOf, labelOf, paramError, paramNames, paramsOf, valuesOf } from "./schema-form";
import type { Params } from "./params";
import schemas from "./schemas.fixture.json";

// What the service describes its types with; tests/console/test_connector_forms.py compares them.
const document: Readonly<Record<string, unknown>> = schemas;
const fields = (type: string) => fieldsOf(JSON.stringify(document[type]));

const COMMON = "subgroups flag, template text, ordered flag, maxPerSecond number, kinds choices";

describe("every type has a form", () => {
  test.each([
    ["http", `url text!, ${COMMON}, method choice, headers map*, bearer secret*, basic.username text, basic.password secret*, secret secret*, previousSecret secret*, previousSecretUntil text, proxy.url text, proxy.username text, proxy.password secret*, storeResponses choice, batch number`],
    ["mqtt", `url text!, topic text!, ${COMMON}, version choice, clientId text, username text, password secret*, retain flag`],
    ["nats", `url text!, subject text!, ${COMMON}, username text, password secret*, token secret*, stream text`],
    ["amqp", `url text!, ${COMMON}, username text, password secret*, exchange text, routingKey text`],
    ["kafka", `brokers list!, topic text!, ${COMMON}, tls flag, mechanism choice, username text, password secret*`],
  ])("%s", (type, expected) => {
    const found = fields(type).map((each) => `${each.path} ${each.kind}${each.isRequired ? "!" : ""}${each.isSecret ? "*" : ""}`);
    expect(found.join(", ")).toBe(expected);
  });

  test("and none is edited as JSON", () => {
    for (const type of Object.keys(document)) expect(fields(type).map((each) => each.kind)).not.toContain("json");
  });
});

describe("parameters survive the form", () => {
  const table: [string, Params, Params][] = [
    ["http", { url: "https://a.example" }, { url: "https://a.example" }],
    [
      "http",
      { url: "https://a.example", method: "PUT", headers: { "X-Key": "k", B: "c:d" }, secret: "whsec_x", basic: { username: "u", password: "p" }, batch: 100, subgroups: true },
      { url: "https://a.example", method: "PUT", headers: { "X-Key": MASK, B: MASK }, secret: MASK, basic: { username: "u", password: MASK }, batch: 100, subgroups: true },
    ],
    ["http", { url: "https://a.example", method: "POST", subgroups: false, headers: {} }, { url: "https://a.example" }],
    ["kafka", { brokers: ["a:1", "b:2"], topic: "t", tls: true }, { brokers: ["a:1", "b:2"], topic: "t", tls: true }],
    ["kafka", { brokers: "a:1,b:2", topic: "t" }, { brokers: ["a:1", "b:2"], topic: "t" }],
    ["mqtt", { url: "mqtt://b", topic: "{deviceId}", version: "3.1.1", password: "x" }, { url: "mqtt://b", topic: "{deviceId}", version: "3.1.1", password: MASK }],
    ["nats", { url: "nats://b", subject: "s", token: "t" }, { url: "nats://b", subject: "s", token: MASK }],
    ["amqp", { url: "amqp://b", exchange: "e", routingKey: "{kind}" }, { url: "amqp://b", exchange: "e", routingKey: "{kind}" }],
  ];
  test.each(table)("%s %j", (type, given, expected) => {
    expect(paramsOf(fields(type), valuesOf(fields(type), given))).toEqual(expected);
  });
});

test("what is wrong is left to the service to say", () => {
  expect(paramsOf(fields("http"), { url: "invalid", batch: "many" })).toEqual({ url: "invalid", batch: "many" });
  expect(fieldsOf("no schema")).toEqual([]);
});

test("a schema that is not understood is edited as JSON", () => {
  const [field] = fieldsOf('{"properties":{"x":{"oneOf":[]}}}');
  expect(field?.kind).toBe("json");
  expect(paramsOf([field!], { x: '{"a":1}' })).toEqual({ x: { a: 1 } });
});

test.each([
  ["routingKey", "Routing key"],
  ["url", "URL"],
])("label of %s", (name, label) => {
  expect(labelOf(name)).toBe(label);
});

test("what is wrong with an object is shown at the first of its fields", () => {
  const wrong = (field: string) => new ApiProblem({ status: 400, code: "invalid", detail: "", fields: [{ in: "body", field, message: "is wrong" }] });
  const http = fields("http");
  const at = (field: string) => http.filter((each) => paramError(wrong(field), http, each)).map((each) => each.path);
  expect(at("params.basic")).toEqual(["basic.username"]);
  expect(at("params.basic.password")).toEqual(["basic.password"]);
  expect(at("params.headers.X-A")).toEqual(["headers"]);
  expect(at("params")).toEqual([]);
  expect(paramNames(http)).toEqual(expect.arrayContaining(["params.url", "params.basic", "params.basic.username"]));
  expect(at("name")).toEqual([]);
});
