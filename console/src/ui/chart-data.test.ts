import { describe, expect, it } from "vitest";
import { indexAt, seriesStyle, stack, tickLabel, timeStep, timeTicks, valueTicks, withGaps, zoneOffset } from "./chart-data";

const at = (text: string) => Date.parse(text);
const HOUR = 3_600_000;

describe("stack", () => {
  it("adds up from the first series, and keeps gaps", () => {
    expect(stack([[1, null, null], [2, 3, null]])).toEqual([
      [1, 0, null],
      [3, 3, null],
    ]);
  });
  it("is empty without series", () => expect(stack([])).toEqual([]));
});

describe("timeTicks", () => {
  it.each([
    ["2026-11-15T17:10:00Z", "2026-11-16T17:10:00Z", 5, "UTC", ["18:00", "16 Nov", "06:00", "12:00"]],
    ["2026-11-15T17:10:00Z", "2026-11-16T17:10:00Z", 5, "Europe/Amsterdam", ["16 Nov", "06:00", "12:00", "18:00"]],
    ["2026-11-16T10:00:01Z", "2026-11-16T10:02:01Z", 5, "UTC", ["10:00:30", "10:01:00", "10:01:30", "10:02:00"]],
    ["2026-11-16T10:00:00Z", "2026-11-16T16:00:00Z", 4, "Asia/Kolkata", ["16:00", "18:00", "20:00"]],
    // Clocks go back at 03:00 to 02:00 in Amsterdam.
    ["2026-10-24T18:00:00Z", "2026-10-25T18:00:00Z", 5, "Europe/Amsterdam", ["25 Oct", "06:00", "12:00", "18:00"]],
  ])("%s to %s in %i ticks, %s", (begin, end, most, zone, labels) => {
    const ticks = timeTicks(at(begin), at(end), most, zone);
    const step = timeStep(at(end) - at(begin), most);
    expect(ticks.map((each) => tickLabel(each, step, zone))).toEqual(labels);
  });
  it("knows the offset of a zone before and after a change", () => {
    expect(zoneOffset(at("2026-10-24T12:00:00Z"), "Europe/Amsterdam")).toBe(2 * HOUR);
    expect(zoneOffset(at("2026-10-26T12:00:00Z"), "Europe/Amsterdam")).toBe(HOUR);
  });
});

describe("valueTicks", () => {
  it.each([
    [0, 779, 4, true, [0, 200, 400, 600, 800]],
    [0, 3, 4, true, [0, 1, 2, 3]],
    [0, 0, 4, true, [0, 1]],
    [0, 1, 4, true, [0, 1]],
    [0, 0.7, 4, false, [0, 0.2, 0.4, 0.6, 0.8]],
    [18.2, 24.9, 4, false, [18, 20, 22, 24, 26]],
    [-4, 9, 4, false, [-5, 0, 5, 10]],
    [21, 21, 4, false, [15, 20, 25]],
    [81, 81, 4, false, [70, 80, 90]],
  ])("%f to %f", (low, high, most, isWhole, ticks) => {
    expect(valueTicks(low, high, most, isWhole)).toEqual(ticks);
  });
});

describe("indexAt", () => {
  it.each([
    [5, 10, null],
    [15, 10, 0],
    [25, 10, 1],
    [35, 10, null],
    [41, 10, 2],
    [29, null, 1],
    [31, null, 2],
    [99, null, 2],
  ])("at %i with buckets of %s", (moment, bucket, index) => {
    expect(indexAt([10, 20, 40], moment, bucket)).toBe(index);
  });
});

it("breaks a line where steps are missing", () => {
  expect(withGaps([0, 10, 40], [[1, 2, 3]], 10)).toEqual([
    [0, 10, 20, 40],
    [[1, 2, null, 3]],
  ]);
});

it("has eight colours, then dashes", () => {
  expect(seriesStyle(1)).toEqual({ color: "--series-2", dash: [] });
  expect(seriesStyle(9).color).toBe("--series-2");
  expect(seriesStyle(9).dash).not.toEqual([]);
});
