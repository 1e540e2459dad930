import { expect, test } from "vitest";
import { bytes, parseExposition, total } from "./exposition";

const TEXT = `# HELP longwire_deliveries By state.
# TYPE longwire_deliveries gauge
longwire_deliveries{state="waiting"} 812
longwire_deliveries{state="failed"} 64.0
longwire_healthy 1
odd{path="a \\"b\\"\\n{c}"} 1e3
`;

test("samples with their labels", () => {
  const samples = parseExposition(TEXT);
  expect(samples).toHaveLength(4);
  expect(samples[3]).toEqual({ name: "odd", labels: { path: 'a "b"\n{c}' }, value: 1_000 });
});

test("a total over labels, and nothing for what is not exported", () => {
  const samples = parseExposition(TEXT);
  expect(total(samples, "longwire_deliveries")).toBe(876);
  expect(total(samples, "longwire_deliveries", { state: "failed" })).toBe(64);
  expect(total(samples, "longwire_unknown")).toBeNull();
});

test.each([
  [512, "512 B"],
  [1_536, "1.5 kB"],
  [250_000_000, "250 MB"],
  [71_000_000_000, "71.0 GB"],
])("%d bytes are %s", (value, words) => {
  expect(bytes(value)).toBe(words);
});
