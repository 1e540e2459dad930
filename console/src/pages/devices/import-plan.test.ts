import { expect, test } from "vitest";
import { columnName, planImport, summaryOf, withAnswer, withDuplicates } from "./import-plan";

const FILE = 'Original ID;name\nA;one\n"B";"two\nlines"\n\nC;three\nA;four\n';

test("a file becomes steps that know where their lines are", () => {
  const plan = planImport(FILE, 2);
  expect(plan.header).toEqual(["Original ID", "name"]);
  expect(plan.steps.map((step) => step.text)).toEqual(['Original ID,name\nA,one\nB,"two\nlines"\n', "Original ID,name\nC,three\nA,four\n"]);
  expect([...(plan.steps[1]?.lineOf ?? [])]).toEqual([
    [1, 1],
    [2, 6],
    [3, 7],
  ]);
});

test("what is wrong is shown at the line of the file, and an id that is twice at the second", () => {
  const plan = planImport(FILE, 2);
  const [first, second] = plan.steps;
  if (!first || !second) throw new Error("two steps");
  let states = withAnswer(new Map(), first, { items: [{ line: 2, status: "created" }], errors: [{ line: 3, column: "name", code: "too_long", message: "is too long" }] });
  states = withAnswer(states, second, {
    items: [
      { line: 2, status: "existing", deviceId: "dev_c" },
      { line: 3, status: "created" },
    ],
    errors: [],
  });
  expect(summaryOf(states)).toEqual({ created: 2, existing: 1, wrong: 1 });
  states = withDuplicates(states, plan, "ttn", 2);
  expect(summaryOf(states)).toEqual({ created: 1, existing: 1, wrong: 2 });
  expect(states.get(3)?.errors).toEqual([{ column: "name", message: "is too long" }]);
  expect(states.get(7)?.errors).toEqual([{ column: "originalId", message: "is that of line 2" }]);
});

test("nothing is no plan", () => {
  expect(planImport("").steps).toEqual([]);
  expect(planImport("originalId").steps.length).toBe(1);
});

test.each([
  ["Original ID", "originalId"],
  ["original_id", "originalId"],
  ["NAME", "name"],
])("the column %j is %j", (head, name) => {
  expect(columnName(head)).toBe(name);
});
