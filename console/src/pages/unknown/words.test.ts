import { expect, it } from "vitest";
import { canBeCreated, nameOf, reasonWords, type UnknownDevice } from "./words";

const DEVICE: UnknownDevice = { groupId: "1", network: "chirpstack", originalId: "0101", firstAt: "", lastAt: "", count: 1, reason: "unknown", hasMessage: true };

it.each([
  ['{"deviceInfo":{"deviceName":"Cold room"}}', "Cold room"],
  ['{"end_device_ids":{"device_id":"crane"}}', "crane"],
  ['{"deviceInfo":{"deviceName":""}}', "0101"],
  ['{"deviceInfo":null}', "0101"],
  ["0a1b", "0101"],
  ['{"deviceInfo":', "0101"],
  [undefined, "0101"],
])("the name in %s", (payload, name) => {
  expect(nameOf({ ...DEVICE, payload })).toBe(name);
});

it("creates only what can be one of its devices", () => {
  expect(canBeCreated(DEVICE)).toBe(true);
  expect(canBeCreated({ ...DEVICE, reason: "otherGroup" })).toBe(false);
  expect(canBeCreated({ ...DEVICE, network: "" })).toBe(false);
  expect(reasonWords("something new").state).toBe("something new");
});
