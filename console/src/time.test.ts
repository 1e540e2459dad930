import { describe, expect, test } from "vitest";
import { ago, bucketSeconds, distanceWords, duration, formatTime, parseMoment, rangeLabel, shiftRange, spanOf } from "./time";

const NOW = Date.parse("2026-11-16T12:00:00Z");
const HOUR = 3_600_000;

describe("moments in an address", () => {
  test.each([
    ["now", NOW],
    ["now-15m", NOW - HOUR / 4],
    ["now-6h", NOW - 6 * HOUR],
    ["now-7d", NOW - 7 * 24 * HOUR],
    ["2026-11-15", Date.parse("2026-11-15T00:00:00Z")],
    ["2026-11-15T10:00", Date.parse("2026-11-15T10:00:00Z")],
    ["2026-11-15T10:00:00+01:00", Date.parse("2026-11-15T09:00:00Z")],
    ["yesterday", null],
    ["now-6", null],
    ["2026-13-45", null],
    ["", null],
  ])("%s", (text, moment) => {
    expect(parseMoment(text, NOW)).toBe(moment);
  });
});

test("a range that is empty or unreadable is the default one", () => {
  const day = { begin: NOW - 24 * HOUR, end: NOW };
  expect(spanOf({ from: "now", to: "now-1h" }, NOW)).toEqual(day);
  expect(spanOf({ from: "invalid", to: "now" }, NOW)).toEqual(day);
});

test("a range moves by its own length", () => {
  const earlier = shiftRange({ from: "now-6h", to: "now" }, NOW, -1);
  expect(earlier).toEqual({ from: "2026-11-16T00:00:00.000Z", to: "2026-11-16T06:00:00.000Z" });
});

test.each([
  [HOUR / 4, 10],
  [HOUR, 60],
  [24 * HOUR, 1_800],
  [30 * 24 * HOUR, 21_600],
])("%d ms are divided into buckets of %d s", (length, seconds) => {
  expect(bucketSeconds({ begin: NOW - length, end: NOW })).toBe(seconds);
});

test("the hour that daylight saving repeats differs by its offset, not by its text alone", () => {
  const first = Date.parse("2026-10-25T00:30:00Z");
  const second = Date.parse("2026-10-25T01:30:00Z");
  expect(formatTime(first, "Europe/Amsterdam", "clock")).toBe("02:30");
  expect(formatTime(second, "Europe/Amsterdam", "clock")).toBe("02:30");
  expect(formatTime(first, "UTC", "clock")).not.toBe(formatTime(second, "UTC", "clock"));
});

test("distances and durations in words", () => {
  expect(ago(NOW - 4 * 60_000, NOW)).toBe("4 min ago");
  expect(ago(NOW + 3 * HOUR, NOW)).toBe("in 3 h");
  expect(ago(NOW - 24 * HOUR, NOW)).toBe("1 day ago");
  expect([distanceWords(4 * 60_000), distanceWords(48 * HOUR), distanceWords(0)]).toEqual(["4 min", "2 days", "0 s"]);
  expect(duration(310)).toBe("310 ms");
  expect(duration(15_000)).toBe("15 s");
  expect(duration(252_000)).toBe("4 min 12 s");
});

test("a range is named by its preset, else by its ends", () => {
  expect(rangeLabel({ from: "now-24h", to: "now" }, "UTC")).toBe("Last 24 hours");
  expect(rangeLabel({ from: "now-90m", to: "now" }, "UTC")).toBe("Last 90 minutes");
  expect(rangeLabel({ from: "2026-11-15T06:30:00Z", to: "2026-11-15T12:40:00Z" }, "UTC")).toBe(
    "15 Nov 2026, 06:30 – 15 Nov 2026, 12:40",
  );
});
