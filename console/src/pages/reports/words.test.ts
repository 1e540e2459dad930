import { expect, test } from "vitest";
import { periodWords, secretOf } from "./words";

test("a secret is read out of a fragment, and nothing else is", () => {
  expect(secretOf("#lwr_abc_D.e-f")).toBe("lwr_abc_D.e-f");
  for (const other of ["", "#", "#lwr_", "#link=lwl_abc", "#lwr_abc def", "#x lwr_abc"]) expect(secretOf(other)).toBeNull();
});

test.each([
  ["2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z", "29 Mar 2026"],
  ["2026-11-15T23:00:00.000Z", "2026-11-22T23:00:00.000Z", "16 Nov 2026 to 22 Nov 2026"],
])("a period from %s to %s is %s in Paris", (beginDate, endDate, words) => {
  expect(periodWords({ beginDate, endDate, timezone: "Europe/Paris" })).toBe(words);
});
