import { describe, expect, it } from "vitest";
import type { Arrival } from "~/live/protocol";
import { flatten, summaryOf } from "./summary";

function arrival(kind: string, record: object): Arrival {
  return { id: "rec_1", arrivedAt: "", kind, source: "api", record: { deviceId: "dev_1", timestamp: "", ...record } } as Arrival;
}

describe("summaryOf", () => {
  it.each([
    ["data", { data: '{"celsius":9.5,"door":{"is":"open"}}' }, "celsius 9.5  door.is open"],
    ["data", { data: '{"port":2,"level":{"mm":64}}', decodedNames: ["level"] }, "level.mm 64  port 2"],
    ["data", { data: '{"radio":{"port":2,"dr":5},"level":{"mm":64},"radius":3}' }, "level.mm 64  radius 3  radio.port 2  radio.dr 5"],
    ["data", { data: "not json" }, "value not json"],
    ["data", { data: "[1,2]" }, "value [1,2]"],
    ["event", { type: "overload", severity: "high" }, "overload  severity high"],
    ["event", { type: "button", message: "pressed" }, "button  pressed"],
    ["geoloc", { lat: 51.95, lng: 4.1412345678, radius: 80 }, "lat 51.95  lng 4.141235  radius 80 m"],
    ["telemetry", { score: 3, nbBS: 2, data: null }, "score 3  stations 2"],
  ])("%s %j", (kind, record, text) => {
    expect(summaryOf(arrival(kind, record))).toBe(text);
  });
});

it("ends with what is too deep or too much", () => {
  const deep = { a: { b: { c: { d: { e: { f: 1 } } } } } };
  expect(flatten(deep)).toEqual([["a.b.c.d.e", '{"f":1}']]);
  expect(flatten(Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`n${index}`, 1]))).length).toBe(200);
});
