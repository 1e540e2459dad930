import { expect, it } from "vitest";
import type { Schemas } from "~/api/client";
import { place, stateOf } from "./points";

const NOW = Date.parse("2026-11-15T12:00:00Z");

function device(fields: Partial<Schemas["Device"]>): Schemas["Device"] {
  return { deviceId: "dev_a", name: "Cold room", createdAt: "2026-11-01T00:00:00Z", seenAt: NOW, ...fields } as Schemas["Device"];
}

const hourly = JSON.stringify({ reportEverySeconds: 3_600 });

it.each([
  [{}, "fine"],
  [{ battery: "19 %" }, "low"],
  [{ battery: "3.6 V" }, "fine"],
  [{ configuration: hourly, seenAt: NOW - 2 * 3_600_000 - 1 }, "silent"],
  [{ configuration: hourly, seenAt: NOW - 2 * 3_600_000 }, "fine"],
  [{ configuration: hourly, seenAt: NOW - 8 * 3_600_000, battery: "1%" }, "low"],
])("%j is %s", (fields, state) => expect(stateOf(device(fields), NOW)).toBe(state));

const positions = [
  { deviceId: "dev_a", lat: 1, lng: 2 },
  { deviceId: "dev_b", lat: 3, lng: 4 },
];

it("positions are shown before their devices are known, unless they are filtered", () => {
  expect(place(positions, null, false, NOW).points.map((each) => [each.id, each.state])).toEqual([
    ["dev_a", "unknown"],
    ["dev_b", "unknown"],
  ]);
  expect(place(positions, null, true, NOW)).toEqual({ points: [], unplaced: null });
});

it("devices that do not match are left out, and those without a position counted", () => {
  const devices = new Map([device({}), device({ deviceId: "dev_c" })].map((each) => [each.deviceId, each]));
  const { points, unplaced } = place(positions, devices, true, NOW);
  expect(points).toEqual([{ id: "dev_a", name: "Cold room", label: "Cold room", lat: 1, lng: 2, state: "fine" }]);
  expect(unplaced).toBe(1);
});
