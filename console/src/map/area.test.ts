import { expect, it } from "vitest";
import { boundsOfArea, geofenceOf, handlesOf, moveHandle, parseArea, polygonOf, removeHandle } from "./area";

const square = { type: "Polygon", coordinates: [[[4, 51], [5, 51], [5, 52], [4, 51]]] };

it.each([
  [{ lat: 51.95, lng: 4.14, radius: 500 }],
  [square],
  [{ type: "MultiPolygon", coordinates: [square.coordinates, square.coordinates] }],
])("%j is an area, and the same again", (given) => {
  const area = parseArea(JSON.stringify(given));
  expect(area && geofenceOf(area)).toEqual(given);
});

it("takes a pasted feature, or a collection with one", () => {
  const feature = { type: "Feature", properties: {}, geometry: square };
  expect(parseArea(JSON.stringify(feature))).toEqual(parseArea(JSON.stringify(square)));
  expect(parseArea(JSON.stringify({ type: "FeatureCollection", features: [feature] }))).toEqual(parseArea(JSON.stringify(square)));
});

it.each(["", "{", "null", "3", '{"lat": 1}', '{"type": "Polygon", "coordinates": [[[1, 2]]]}', '{"type": "Point", "coordinates": [1, 2]}'])("%s is none", (text) =>
  expect(parseArea(text)).toBeNull(),
);

it("corners become a closed ring, as exact as a hand is", () => {
  const area = polygonOf([{ lat: 51.12345678, lng: 4 }, { lat: 51, lng: 5 }, { lat: 52, lng: 5 }]);
  expect(geofenceOf(area).coordinates).toEqual([[[4, 51.123457], [5, 51], [5, 52], [4, 51.123457]]]);
});

it("the bounds of a circle are wider in the north", () => {
  const bounds = boundsOfArea({ kind: "circle", lat: 60, lng: 10, radius: 111_195 });
  expect(bounds?.south).toBeCloseTo(59);
  expect(bounds?.east).toBeCloseTo(12);
});

it("a corner is moved alone, and the ring stays closed", () => {
  const area = polygonOf([{ lat: 51, lng: 4 }, { lat: 51, lng: 5 }, { lat: 52, lng: 5 }, { lat: 52, lng: 4 }]);
  expect(handlesOf(area)).toHaveLength(4);
  const moved = moveHandle(area, [0, 0, 0], { lat: 50, lng: 3 });
  expect(geofenceOf(moved).coordinates).toEqual([[[3, 50], [5, 51], [5, 52], [4, 52], [3, 50]]]);
  const fewer = removeHandle(moved, [0, 0, 0]);
  expect(fewer && geofenceOf(fewer).coordinates).toEqual([[[5, 51], [5, 52], [4, 52], [5, 51]]]);
  expect(fewer && removeHandle(fewer, [0, 0, 0])).toBeNull();
});

it("a circle is moved by its middle, and widened by its edge", () => {
  const circle = { kind: "circle", lat: 51, lng: 4, radius: 500 } as const;
  const edge = handlesOf(circle)[1];
  expect(moveHandle(circle, "middle", { lat: 52, lng: 5 })).toEqual({ kind: "circle", lat: 52, lng: 5, radius: 500 });
  expect(moveHandle(circle, "edge", edge?.place ?? circle)).toMatchObject({ lat: 51, lng: 4, radius: expect.closeTo(500, 0) });
  expect(removeHandle(circle, "edge")).toBeNull();
});

it("what has more corners than anybody drags has no handles", () => {
  const corners = Array.from({ length: 300 }, (_, index) => ({ lat: 51 + index / 1_000, lng: 4 }));
  expect(handlesOf(polygonOf(corners))).toEqual([]);
});
