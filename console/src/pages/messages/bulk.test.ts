import { expect, test } from "vitest";
import { changeMessages, resultWords, stepsOf } from "./bulk";

const RANGE = { from: "2026-11-15", to: "2026-11-16" };
const NEVER = () => false;

test("ids go in steps", () => {
  expect(stepsOf(["a", "b", "c"], 2)).toEqual([["a", "b"], ["c"]]);
  expect(stepsOf([])).toEqual([]);
});

test("all that match: every connector, until there are no more", async () => {
  const asked: unknown[] = [];
  const answers = [
    { changed: 10_000, skipped: 0, isMore: true },
    { changed: 5, skipped: 2, isMore: false },
    { changed: 0, skipped: 1, isMore: true },
  ];
  const target = { filter: { status: "failed" as const, kind: "data" as const }, range: RANGE, connectorIds: ["con_1", "con_2"] };
  const result = await changeMessages("retry", "1", target, () => {}, NEVER, async (verb, body) => {
    asked.push([verb, body.connectorId, body.kind, body.status]);
    return { message: "", ...(answers.shift() ?? { changed: 0, skipped: 0, isMore: false }) };
  });
  expect(result).toEqual({ changed: 10_005, skipped: 3, isStopped: false });
  expect(asked).toEqual([
    ["retry", "con_1", "data", undefined],
    ["retry", "con_1", "data", undefined],
    ["retry", "con_2", "data", undefined],
  ]);
});

test("it can be stopped between two steps", async () => {
  let steps = 0;
  const ids = Array.from({ length: 2_500 }, (_, index) => `msg_${index}`);
  const result = await changeMessages("cancel", "1", { ids }, () => {}, () => steps === 1, async (_verb, body) => {
    steps += 1;
    return { message: "", changed: body.ids?.length ?? 0, skipped: 0, isMore: false };
  });
  expect(result).toEqual({ changed: 1_000, skipped: 0, isStopped: true });
  expect(resultWords("cancel", result)).toBe("Stopped: 1,000 deliveries cancelled.");
});

test("a result says what was skipped", () => {
  expect(resultWords("retry", { changed: 1, skipped: 3, isStopped: false })).toBe(
    "1 delivery queued again; 3 in a state in which that is not possible.",
  );
});
