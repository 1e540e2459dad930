import { expect, test } from "vitest";
import { dayCounts, groupByDay, type DayHead } from "./days";

const at = (timestamp: string, status: "failed" | "succeed" | "processing") => ({ connectorId: "con_1", id: `msg_${timestamp}`, timestamp, status });
const EVENTS = [
  at("2026-11-15T23:30:00Z", "failed"),
  at("2026-11-15T22:30:00Z", "succeed"),
  at("2026-11-15T10:00:00Z", "processing"),
];
const heads = (zone: string, hasMore: boolean) =>
  groupByDay(EVENTS, zone, hasMore)
    .filter((each): each is DayHead => each.type === "day")
    .map((head) => `${head.day}: ${dayCounts(head)}`);

test("days are those of the zone", () => {
  expect(heads("UTC", false)).toEqual(["15 Nov 2026: 1 delivered · 1 failed · 1 waiting"]);
  expect(heads("Europe/Amsterdam", false)).toEqual(["16 Nov 2026: 1 failed", "15 Nov 2026: 1 delivered · 1 waiting"]);
});

test("only the last day may have more than is loaded", () => {
  expect(heads("Europe/Amsterdam", true)).toEqual(["16 Nov 2026: 1 failed", "15 Nov 2026: 1+ delivered · 1+ waiting"]);
});

test("every message stands below its day", () => {
  expect(groupByDay(EVENTS, "Europe/Amsterdam", false).map((each) => each.type)).toEqual(["day", "message", "day", "message", "message"]);
  expect(groupByDay([], "UTC", false)).toEqual([]);
});
