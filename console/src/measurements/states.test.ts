import { expect, it } from "vitest";
import { bandsOf, coloursOf } from "./states";

const at = (hour: number) => Date.UTC(2026, 1, 1, hour);
const changes = [
  { timestamp: "2026-02-01T00:00:00Z", value: "closed" },
  { timestamp: "2026-02-01T08:00:00Z", value: "open" },
  { timestamp: "2026-02-01T09:00:00Z", value: "closed" },
  { timestamp: "2026-02-01T12:00:00Z", value: "open" },
];

it("holds a state until the next one, and none after the end", () => {
  expect(bandsOf(changes, at(12), String)).toEqual([
    { begin: at(0), end: at(8), text: "closed" },
    { begin: at(8), end: at(9), text: "open" },
    { begin: at(9), end: at(12), text: "closed" },
  ]);
  expect(bandsOf([], at(12), String)).toEqual([]);
});

it("gives the most usual state no colour", () => {
  const rows = [{ id: "1", name: "Door", bands: bandsOf(changes, at(12), String) }];
  expect([...coloursOf(rows)]).toEqual([
    ["closed", undefined],
    ["open", "--series-1"],
  ]);
});
