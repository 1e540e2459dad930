import { expect, test } from "vitest";
import { measurementWords, outcomeOf, parsePayloads, summaryOf, type PreviewItem } from "./workbench-data";

test.each([
  ["", [], null],
  ["01c2\n\n 0x01 ff : 2 ", [{ payload: "01c2" }, { payload: "01ff", fPort: 2 }], null],
  ["01:", [{ payload: "01" }], null],
  ["01\n1", [], "Line 2 is not hex digits, two for each byte."],
  ["01:300", [], "The port of line 1 is not a number up to 255."],
])("the payloads %j", (text, payloads, error) => {
  expect(parsePayloads(text)).toEqual({ payloads, error });
});

test.each([
  [{ payloads: 1 }, "in 1 payload"],
  [{ payloads: 0 }, "in no payload"],
  [{ payloads: 2, invalid: 1 }, "in 2 payloads, invalid in 1 payload"],
])("a measurement of %j", (counts, words) => {
  expect(measurementWords(counts)).toBe(words);
});

function item(fields: Partial<PreviewItem>): PreviewItem {
  return { payload: "01", timestamp: "2026-11-16T06:00:00Z", milliseconds: 1, ...fields };
}

test("each payload is as stored, changed, failed, or new", () => {
  const items = [
    item({ stored: { a: 1 }, values: { a: 1 } } as never),
    item({ stored: { a: 1 }, values: { a: 2 } } as never),
    item({ stored: { a: 1 }, error: "no" } as never),
    item({ values: { a: 1 } } as never),
  ];
  expect(items.map(outcomeOf)).toEqual(["same", "changed", "failed", "decoded"]);
  expect(summaryOf(items)).toBe("4 payloads: 1 would change, 1 as stored, 1 decoded, 1 failed");
  expect(summaryOf([])).toBe("0 payloads");
});
