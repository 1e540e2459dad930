import { describe, expect, test } from "vitest";
import { conjuncts, kindsOf, scopeSentence, type ScopeInput } from "./scope";

const BARE: ScopeInput = { groupName: "Harbour", withSubgroups: false, kinds: [], deviceTypes: [], devices: [], filter: "" };

describe("scopeSentence", () => {
  const table: [Partial<ScopeInput>, string][] = [
    [{}, "everything from all devices in Harbour"],
    [{ withSubgroups: true, filter: "  " }, "everything from all devices in Harbour and below"],
    [{ withSubgroups: true, filter: "message.kind == 'event'" }, "events of all devices in Harbour and below"],
    [{ filter: 'message.kind in ["data", "geoloc"]' }, "data and geolocations of all devices in Harbour"],
    [{ kinds: ["alarm", "registry"] }, "alarms and changes of all devices in Harbour"],
    [{ deviceTypes: ["tracker"] }, "all records of devices of type tracker in Harbour"],
    [{ deviceTypes: ["meter", "tracker"], devices: ["Crane 7"] }, "all records of Crane 7, if of type meter and tracker in Harbour"],
    [{ devices: ["Crane 7", "Crane 8"] }, "all records of Crane 7 and Crane 8 in Harbour"],
    [{ devices: ["a", "b", "c", "d"] }, "all records of 4 devices in Harbour"],
    [{ filter: "message.data.celsius > 8" }, "all records of all devices in Harbour, where message.data.celsius > 8"],
    [
      { filter: "message.kind == 'data' && message.data.celsius > 8", deviceTypes: ["temperature"] },
      "data of devices of type temperature in Harbour, where message.data.celsius > 8",
    ],
    [
      { filter: "message.kind == 'event' || message.data.x > 1" },
      "all records of all devices in Harbour, where message.kind == 'event' || message.data.x > 1",
    ],
    [{ filter: "message.kind == 'unknown'" }, "all records of all devices in Harbour, where message.kind == 'unknown'"],
  ];
  test.each(table)("%j", (given, text) => {
    expect(scopeSentence({ ...BARE, ...given })).toBe(text);
  });
});

test.each([
  ["a && b", ["a", "b"]],
  ["f(a && b) && c", ["f(a && b)", "c"]],
  ["m == 'x && y' && z", ["m == 'x && y'", "z"]],
  ["a || b && c", null],
  ["(a || b) && c", ["(a || b)", "c"]],
  ["a ? b : c", null],
  ["m == 'it\\'s' && z", ["m == 'it\\'s'", "z"]],
  ["(a", null],
])("conjuncts of %s", (filter, parts) => {
  expect(conjuncts(filter)).toEqual(parts);
});

test.each([
  ["message.kind == 'data'", ["data"]],
  ["message.kind != 'data'", null],
  ["message.kind in ['data', 'event']", ["data", "event"]],
  ["message.kind in ['data', other]", null],
])("kinds of %s", (condition, kinds) => {
  expect(kindsOf(condition)).toEqual(kinds);
});
