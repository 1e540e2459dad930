import { expect, test } from "vitest";
import type { Schemas } from "~/api/client";
import { csvCell, devicesCsv, parseCsv } from "./csv";

test.each([
  ["plain", "plain"],
  ['say "hi", there', '"say ""hi"", there"'],
  ["=1+1", "'=1+1"],
  ["-3.5", "-3.5"],
  ["-x", "'-x"],
  ["'=1", "''=1"],
  ["\n=1", `"'\n'=1"`],
  ["\tx", "'\tx"],
  ["\uff1d1", "'\uff1d1"],
  ["\ufeff=1", "'\ufeff=1"],
  ["\u200b=1", "'\u200b=1"],
  [" =1", "' =1"],
  [";=1", `";'=1"`],
  ['a;"=1', `"a;'""=1"`],
  ["a;-2", '"a;-2"'],
  [{ a: -1, b: "=1" }, `"{""a"":-1,""b"":""=1""}"`],
  [null, ""],
  [12, "12"],
  ["a\nb", '"a\nb"'],
])("the cell of %j is %j", (value, cell) => {
  expect(csvCell(value)).toBe(cell);
});

test("tags with a bar are a JSON list", () => {
  const device = (tags: string[]) => devicesCsv([{ tags } as Schemas["Device"]]);
  expect(device(["a", "b"])).toContain("a|b");
  expect(device(["a|b"])).toContain('"[""a|b""]"');
});

test("a quoted cell spans lines, and the next line has its own number", () => {
  expect(parseCsv('name,originalId\r\n"two\r\nlines",1\r\n\r\n"a ""b""",2')).toEqual([
    { line: 1, cells: ["name", "originalId"] },
    { line: 2, cells: ["two\r\nlines", "1"] },
    { line: 5, cells: ['a "b"', "2"] },
  ]);
});

test("semicolons and tabs separate as well", () => {
  expect(parseCsv("a;b\n1,5;2")[1]?.cells).toEqual(["1,5", "2"]);
  expect(parseCsv("a\tb\n1\t2")[1]?.cells).toEqual(["1", "2"]);
});
