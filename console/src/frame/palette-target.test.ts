import { describe, expect, test } from "vitest";
import { idTarget, matchesWords } from "./palette-target";

describe("an id that was pasted leads straight there", () => {
  test.each([
    ["dev_4mkcl2xs", "device"],
    [" con_4mkcl2xs ", "connector"],
    ["msg_1_19805e2c", "message"],
    ["rec_19805e2c41a003", "record"],
    ["888718507465130", "group"],
    ["job_4mkcl2xs", "job"],
    ["rpt_4mkcl2xs", "report"],
  ])("%s", (text, kind) => {
    expect(idTarget(text)).toEqual({ kind, id: text.trim() });
  });

  test.each(["dev", "crane 7", "1204", "dev_4mkcl2xs and more", ""])("%s is no id", (text) => {
    expect(idTarget(text)).toBeNull();
  });
});

test.each([
  ["Audit log", "aud lo", true],
  ["Audit log", "log", true],
  ["Audit log", "udit", false],
  ["Audit log", "", true],
])("%s is found by %s: %s", (label, typed, isFound) => {
  expect(matchesWords(label, typed)).toBe(isFound);
});
