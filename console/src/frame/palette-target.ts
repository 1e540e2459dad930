// What a text in the palette is by itself: an id that was pasted whole leads straight there.

export type IdTarget =
  | { kind: "device"; id: string }
  | { kind: "connector"; id: string }
  | { kind: "notification"; id: string }
  | { kind: "contact point"; id: string }
  | { kind: "report"; id: string }
  | { kind: "message"; id: string }
  | { kind: "record"; id: string }
  | { kind: "job"; id: string }
  | { kind: "group"; id: string };

const PREFIXES: readonly (readonly [RegExp, IdTarget["kind"]])[] = [
  [/^dev_\w+$/, "device"],
  [/^con_\w+$/, "connector"],
  [/^ntf_\w+$/, "notification"],
  [/^cpt_\w+$/, "contact point"],
  [/^rpt_\w+$/, "report"],
  [/^msg_[\w-]+$/, "message"],
  [/^rec_\w+$/, "record"],
  [/^job_\w+$/, "job"],
  [/^\d{9,20}$/, "group"],
];

export function idTarget(text: string): IdTarget | null {
  const given = text.trim();
  const found = PREFIXES.find(([pattern]) => pattern.test(given));
  return found ? ({ kind: found[1], id: given } as IdTarget) : null;
}

// As in "type d’appareil", where both may begin what is typed.
const BETWEEN_WORDS = /[\s'’]+/;

// Whether the letters of `typed` occur in `label`, as words that begin so: "aud lo" finds "Audit log".
export function matchesWords(label: string, typed: string): boolean {
  const words = label.toLowerCase().split(BETWEEN_WORDS);
  return typed
    .toLowerCase()
    .split(BETWEEN_WORDS)
    .filter(Boolean)
    .every((part) => words.some((word) => word.startsWith(part)));
}
