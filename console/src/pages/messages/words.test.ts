import { expect, test } from "vitest";
import { bodyWords, numbersOf, phaseWords, statsWords, statusWords } from "./words";

test.each([
  ["processing", 0, undefined, "waiting"],
  ["processing", 1, undefined, "sending"],
  ["processing", 1, "status 503", "retrying"],
  ["processing", 2, undefined, "retrying"],
  ["succeed", 1, undefined, "delivered"],
])("%s after %i attempts with the error %s", (status, attempts, message, label) => {
  expect(statusWords({ status, attempts, message } as Parameters<typeof statusWords>[0]).label).toBe(label);
});

test("attempts are numbered on where they begin again after a resend", () => {
  const numbers = [1, 2, 3, 1, 2, 1].map((number) => ({ number }));
  expect(numbersOf(numbers)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(numbersOf([{ number: 7 }, { number: 8 }, { number: 1 }])).toEqual([7, 8, 9]);
});

test("a count of none is not shown where there may be some", () => {
  const counts = { totalSucceed: 1200, totalFailed: 0, totalStillProcessing: 3 };
  expect(statsWords(counts)).toBe("1,200 delivered · 0 failed · 3 waiting");
  expect(statsWords({ ...counts, isMore: true })).toBe("1,200+ delivered · 3+ waiting");
});

test("a body says what its text does not", () => {
  const body = { text: "", isBase64: false, isCut: false, size: 3 };
  expect(bodyWords(body)).toBe("");
  expect(bodyWords({ ...body, size: 0 })).toBe("no body");
  expect(bodyWords({ ...body, isBase64: true, isCut: true, size: 5_000 })).toBe("in base64, the beginning of 5,000 bytes");
  expect(phaseWords("tls")).toBe("TLS handshake");
  expect(phaseWords(undefined)).toBe("not known");
});
