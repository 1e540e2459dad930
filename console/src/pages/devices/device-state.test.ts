import { expect, test } from "vitest";
import { batteryPercent, silentAfterMs, silentSince } from "./device-state";

test.each([
  ["81", 81],
  ["81 %", 81],
  ["8.5%", 8.5],
  ["0", 0],
  ["101", null],
  ["ok", null],
  ["", null],
  [null, null],
])("a charge of %j is %j percent", (text, percent) => {
  expect(batteryPercent(text)).toBe(percent);
});

test.each([
  ['{"silentAfterSeconds":60,"reportEverySeconds":600}', 60_000],
  ['{"reportEverySeconds":600}', 1_200_000],
  ['{"heartbeatEverySeconds":10}', 20_000],
  ['{"silentAfterSeconds":true,"reportEverySeconds":600}', null],
  ['{"reportEverySeconds":0,"heartbeatEverySeconds":10}', 20_000],
  ['{"reportEverySeconds":1e9}', null],
  ["[]", null],
  ["null", null],
  ["any text", null],
  [null, null],
])("the configuration %j allows %j ms of silence", (configuration, ms) => {
  expect(silentAfterMs(configuration)).toBe(ms);
});

test("a device is silent from its last message on, and not before its first", () => {
  const device = { configuration: '{"silentAfterSeconds":60}', seenAt: 1_000 };
  expect(silentSince(device, 61_000)).toBeNull();
  expect(silentSince(device, 61_001)).toBe(1_000);
  expect(silentSince({ ...device, seenAt: undefined }, 65_001)).toBeNull();
});
