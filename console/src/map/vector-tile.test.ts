import { expect, it } from "vitest";
import { LINE, parseTile, trace } from "./vector-tile";

// A layer `roads` with one line from (2, 2) to (2, 10) to (10, 10), tagged kind = "path" and lanes = 2.
const FEATURE = [0x12, 4, 0, 0, 1, 1, 0x18, LINE, 0x22, 8, 9, 4, 4, 18, 0, 16, 16, 0];
const text = (field: number, value: string) => [(field << 3) | 2, value.length, ...new TextEncoder().encode(value)];
const LAYER = [...text(1, "roads"), 0x12, FEATURE.length, ...FEATURE, ...text(3, "kind"), ...text(3, "lanes"), 0x22, 6, ...text(1, "path"), 0x22, 2, 0x28, 2, 0x28, 0x80, 0x20];
const TILE = new Uint8Array([0x1a, LAYER.length, ...LAYER]);

it("a tile has its layers, with tags and outlines", () => {
  const roads = parseTile(TILE).get("roads");
  expect(roads?.extent).toBe(4_096);
  const [road] = roads?.features ?? [];
  expect(road).toMatchObject({ kind: LINE, tags: { kind: "path", lanes: 2 } });
  const drawn: string[] = [];
  if (road) trace(road, { moveTo: (x, y) => drawn.push(`M${x},${y}`), lineTo: (x, y) => drawn.push(`L${x},${y}`), closePath: () => drawn.push("Z") });
  expect(drawn).toEqual(["M2,2", "L2,10", "L10,10"]);
});

it("a tile that is cut off is an error, and no endless loop", () => {
  expect(() => parseTile(new Uint8Array([0x1a, 0x80]))).toThrow("cut off");
});
