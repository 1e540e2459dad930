import { expect, test } from "vitest";
import { adviceOf } from "./failure-words";

test.each([
  [{ code: "rejected", status: 503 }, "cannot accept anything now"],
  [{ code: "rejected", status: 401 }, "credentials"],
  [{ code: "rejected", status: 422 }, "response may say why"],
  [{ code: "unreachable" }, "Nothing answers"],
] as const)("%o is explained", (failure, words) => {
  expect(adviceOf(failure)).toContain(words);
});

test("what is not known is not guessed", () => {
  expect(adviceOf({})).toBe("");
});
