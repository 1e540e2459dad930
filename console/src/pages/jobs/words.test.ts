import { expect, test } from "vitest";
import { filterWords, jobTitle, noUndoReason, parameterRows, progressWords } from "./words";

test.each([
  [null, "The devices that were named"],
  [{}, "All devices"],
  [{ type: "tracker", tag: "cellar", seen: "never" }, "All devices of type tracker, tagged cellar, never seen"],
  [{ q: "crane", batteryBelow: 0, subgroups: true }, "All devices that match “crane”, with a battery below 0 %, with the groups below"],
])("the filter %j", (filter, words) => {
  expect(filterWords(filter as never)).toBe(words);
});

test("parameters as rows, and titles", () => {
  expect(parameterRows({ addTags: ["a", "b"], subgroups: false, type: undefined })).toEqual([
    ["addTags", "Add tags", "a, b"],
    ["subgroups", "With groups below", "no"],
  ]);
  expect(jobTitle({ kind: "tag" })).toBe("Tag devices");
  expect(jobTitle({ kind: "undo" })).toBe("Undo a job");
});

test("progress", () => {
  expect(progressWords({ done: 1204, total: 3000, changed: 1200, skipped: 0, failed: 4 })).toBe("1,204 of 3,000 · 1,200 changed · 4 failed");
  expect(progressWords({ done: 0, total: undefined, changed: 0, skipped: 0, failed: 0 })).toBe("0 of ?");
});

const DONE = { state: "succeeded", changed: 3, undoUntil: "2026-11-17T06:00:00.000Z" };
test.each([
  [DONE, "2026-11-16T06:00:00Z", null],
  [DONE, "2026-11-17T06:00:00Z", "its 24 hours are over"],
  [{ ...DONE, state: "running" }, "2026-11-16T06:00:00Z", "it has not ended yet"],
  [{ ...DONE, undoneBy: "job_2" }, "2026-11-16T06:00:00Z", "it is undone"],
  [{ ...DONE, changed: 0 }, "2026-11-16T06:00:00Z", "it changed nothing"],
  [{ ...DONE, noUndo: "is_undo" }, "2026-11-16T06:00:00Z", "an undo is not undone; start the job again"],
])("undo of %j at %s: %s", (job, now, reason) => {
  expect(noUndoReason(job as never, Date.parse(now))).toBe(reason);
});
