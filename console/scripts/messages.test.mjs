// The catalogue: whole in each language, with nothing that nobody reads, and nothing beside it.
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { findWords } from "./words.mjs";

const SRC = join(import.meta.dirname, "../src");
const HERE = join(SRC, "messages");
const LANGUAGES = readdirSync(HERE).filter((name) => !name.includes("."));
// Sentences that are the same in another language.
const SAME_EVERYWHERE = [];
// Codes that read like words.
const CODES = new Set(["contact point", "no longer"]);

const areas = readdirSync(join(HERE, "en")).map((name) => name.replace(".json", ""));
const read = (language, area) => JSON.parse(readFileSync(join(HERE, language, `${area}.json`), "utf8"));
const base = (key) => key.replace(/_(one|many|other)$/, "");
const keys = (messages) => [...new Set(Object.keys(messages).map(base))].sort();
const places = (text) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map((each) => each[1]).sort();

function sources(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((each) => {
    const path = join(folder, each.name);
    if (each.isDirectory()) return sources(path);
    return /\.tsx?$/.test(each.name) && !/\.test\.|\.d\.ts$|\.worker\./.test(each.name) ? [path] : [];
  });
}

describe.each(areas)("%s", (area) => {
  const english = read("en", area);
  it.each(LANGUAGES)("says everything in %s", (language) => {
    const own = read(language, area);
    expect(keys(own)).toEqual(keys(english));
    for (const [key, text] of Object.entries(own)) {
      expect(text.trim(), key).not.toBe("");
      // A place may be left out only in a plural form, which may spell its number.
      const known = new Set(Object.entries(english).flatMap(([each, of]) => (base(each) === base(key) ? places(of) : [])));
      for (const place of places(text)) expect(known, `${key}: ${place}`).toContain(place);
      if (key in english && base(key) === key) expect(places(text), key).toEqual(places(english[key] ?? ""));
    }
  });

  it.each(LANGUAGES.filter((each) => each !== "en"))("is translated into %s", (language) => {
    const own = read(language, area);
    const isSentence = (text) => (text.replace(/\{\{\w+\}\}/g, "").match(/[A-Za-z]{2,}/g) ?? []).length >= 4;
    const left = Object.entries(own).filter(([key, text]) => isSentence(text) && text === english[key] && !SAME_EVERYWHERE.includes(text));
    expect(left).toEqual([]);
  });
});

it("has no message that nothing shows, and nothing is shown beside it", { timeout: 60_000 }, () => {
  const beside = [];
  const used = new Set();
  for (const path of sources(SRC)) {
    const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
    beside.push(...findWords(source).map((each) => `${relative(SRC, path)}:${each}`));
    for (const [, alias, area] of source.text.matchAll(/import \{ t(?: as (\w+))? \} from "~\/messages\/([\w-]+)"/g)) {
      const calls = new RegExp(`\\b${alias ?? "t"}(?:\\.rich)?\\(\\s*"([^"]+)"`, "g");
      for (const [, key] of source.text.matchAll(calls)) used.add(`${area}: ${key}`);
    }
  }
  expect(beside.filter((each) => !CODES.has(each.replace(/^\S+ /, "")))).toEqual([]);
  const known = areas.flatMap((area) => keys(read("en", area)).map((key) => `${area}: ${key}`));
  expect(known.filter((each) => !used.has(each))).toEqual([]);
});
