import { describe, expect, it } from "vitest";
import { calendarTimes, indexAt, joinSeries, seriesStyle, stack, tickLabel, timeStep, timeTicks, valueTicks, withGaps, zoneOffset } from "./chart-data";

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

describe("joinSeries", () => {
  const points = (...times: number[]) => times.map((at) => ({ at }));
  it("goes on over moments of others, and breaks at a gap of its own", () => {
    const { times, columns } = joinSeries([points(0, 10, 20, 60), points(5, 25, 45, 65)], 10);
    expect(times).toEqual([0, 5, 10, 20, 25, 34, 45, 60, 65]);
    expect(columns[0]?.map((each) => (each === undefined ? "" : each === null ? "gap" : each.at))).toEqual([0, "", 10, 20, "", "gap", "", 60, ""]);
    expect(columns[1]?.filter((each) => each === null)).toEqual([]);
  });
});

describe("calendarTimes", () => {
  const times = (begin: string, end: string, span: "hour" | "day" | "week" | "month", zone: string) =>
    calendarTimes(at(begin), at(end), span, zone).map((each) => new Date(each).toISOString().slice(0, 16));
  it("begins with the span that holds the begin", () => {
    expect(times("2026-11-15T17:10:00Z", "2026-11-17T12:00:00Z", "day", "Europe/Amsterdam")).toEqual(["2026-11-14T23:00", "2026-11-15T23:00", "2026-11-16T23:00"]);
    expect(times("2026-11-15T17:10:00Z", "2026-11-16T17:10:00Z", "week", "UTC")).toEqual(["2026-11-09T00:00", "2026-11-16T00:00"]);
    expect(times("2026-09-15T00:00:00Z", "2026-11-16T00:00:00Z", "month", "Europe/Amsterdam")).toEqual(["2026-08-31T22:00", "2026-09-30T22:00", "2026-10-31T23:00"]);
  });
  it("follows clocks that change, and zones with half hours", () => {
    expect(times("2026-10-24T22:00:00Z", "2026-10-26T12:00:00Z", "day", "Europe/Amsterdam")).toEqual(["2026-10-24T22:00", "2026-10-25T23:00"]);
    expect(times("2026-10-24T23:30:00Z", "2026-10-25T03:00:00Z", "hour", "Europe/Amsterdam")).toEqual(["2026-10-24T23:00", "2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"]);
    expect(times("2026-03-28T23:30:00Z", "2026-03-29T03:00:00Z", "hour", "Europe/Amsterdam")).toEqual(["2026-03-28T23:00", "2026-03-29T00:00", "2026-03-29T01:00", "2026-03-29T02:00"]);
    expect(times("2026-11-16T10:00:00Z", "2026-11-16T11:00:00Z", "hour", "Asia/Kolkata")).toEqual(["2026-11-16T09:30", "2026-11-16T10:30"]);
  });
});
