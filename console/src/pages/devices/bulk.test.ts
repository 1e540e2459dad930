import { expect, test } from "vitest";
import { ApiProblem, Unreachable, type Schemas } from "~/api/client";
import { parseTags, reverseTags, reverseType, runSteps, stepsOf, type Target } from "./bulk";

const target = (id: number, groupId = "g"): Target => ({ deviceId: `d${id}`, groupId, name: `name ${id}` });
const many = (count: number) => Array.from({ length: count }, (_, index) => target(index));
const quiet = { isStopped: () => false, onProgress: () => {} };

test("a step has at most 1,000 devices, all of one group", () => {
  const targets = [...many(1_500), target(9_000, "other"), target(9_001)];
  expect(stepsOf(targets).map((step) => [step[0]?.groupId, step.length])).toEqual([
    ["g", 1_000],
    ["g", 501],
    ["other", 1],
  ]);
});

test("one that is refused leaves its thousand as it was, and the next step runs", async () => {
  const outcome = await runSteps(
    many(1_500),
    async (_group, ids) => {
      if (ids.includes("d3"))
        throw new ApiProblem({ status: 404, code: "not_found", detail: "", fields: [{ in: "body", field: "deviceIds[3]", message: "names no device" }] });
    },
    quiet,
  );
  expect(outcome.done.length).toBe(500);
  expect(outcome.left.length).toBe(1_000);
  expect(outcome.refused).toEqual([{ target: target(3), message: "names no device" }]);
  expect(outcome.failure).toBeNull();
});

test("a failure that is not about single devices ends it, and so does Stop", async () => {
  const failed = await runSteps(many(2_500), () => Promise.reject(new Unreachable()), quiet);
  expect([failed.done.length, failed.left.length, failed.failure?.name]).toEqual([0, 2_500, "Unreachable"]);
  let calls = 0;
  const stopped = await runSteps(many(2_500), async () => void calls++, { isStopped: () => calls === 1, onProgress: () => {} });
  expect([calls, stopped.done.length, stopped.left.length, stopped.stopped]).toEqual([1, 1_000, 1_500, true]);
});

const device = (id: string, tags: string[], type = "tracker", configuration = "{}") =>
  ({ deviceId: id, groupId: "g", name: id, tags, type, configuration }) as Schemas["Device"];

test("undoing tags leaves those that were there before", () => {
  const before = [device("a", []), device("b", ["port"]), device("c", ["old"]), device("d", [])];
  expect(reverseTags(before, ["port"], ["old"])).toEqual([
    { groupId: "g", deviceIds: ["a", "d"], removeTags: ["port"] },
    { groupId: "g", deviceIds: ["c"], addTags: ["old"], removeTags: ["port"] },
  ]);
});

test("undoing a type brings back each device's configuration", () => {
  const before = [device("a", [], "meter", '{"x":1}'), device("b", [], "tracker"), device("c", [], "meter", '{"x":1}')];
  expect(reverseType(before, "tracker")).toEqual([{ groupId: "g", deviceIds: ["a", "c"], type: "meter", configuration: '{"x":1}' }]);
});

test("tags are typed with commas between them", () => {
  expect(parseTags(" port, cold room ,,port")).toEqual(["port", "cold room"]);
});
