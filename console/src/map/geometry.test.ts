import { describe, expect, it } from "vitest";
import { boundsOf, distanceM, formatView, isInBounds, isInside, nearestLng, parseView, unwrap, wrapLng } from "./geometry";

describe("a view in the address", () => {
  it.each([
    ["51.95,4.14,9", { lat: 51.95, lng: 4.14, zoom: 9 }],
    ["-90,180,0", { lat: -90, lng: 180, zoom: 0 }],
    ["51.95,4.14", null],
    ["51.95,4.14,", null],
    ["51.95,4.14,9,1", null],
    ["91,4.14,9", null],
    ["51.95,190,9", null],
    ["51.95,4.14,19", null],
    ["a,b,c", null],
    [undefined, null],
  ])("%s", (text, view) => expect(parseView(text)).toEqual(view));

  it("is as exact as the zoom", () => {
    expect(formatView({ lat: 51.951234567, lng: 4.141234567, zoom: 2 })).toBe("52.0,4.1,2");
    expect(formatView({ lat: 51.951234567, lng: 364.141234567, zoom: 17 })).toBe("51.951235,4.141235,17");
  });
});

describe("around the antimeridian", () => {
  it("wraps", () => {
    expect([wrapLng(190), wrapLng(-190), wrapLng(540), wrapLng(0)]).toEqual([-170, 170, -180, 0]);
    expect(nearestLng(-170, 175)).toBe(190);
  });

  it("a line goes on", () => {
    const line = unwrap([{ lat: 0, lng: 179 }, { lat: 0, lng: -179 }, { lat: 0, lng: 178 }]);
    expect(line.map((each) => each.lng)).toEqual([179, 181, 178]);
  });

  it("the bounds leave the largest gap out", () => {
    expect(boundsOf([{ lat: 1, lng: 170 }, { lat: -1, lng: -170 }])).toEqual({ west: 170, south: -1, east: 190, north: 1 });
    expect(boundsOf([{ lat: 1, lng: -10 }, { lat: 2, lng: 20 }, { lat: 0, lng: 5 }])).toEqual({ west: -10, south: 0, east: 20, north: 2 });
    expect(boundsOf([{ lat: 1, lng: 139 }, { lat: 2, lng: 4 }, { lat: 0, lng: -74 }])).toMatchObject({ west: -180, east: 180 });
    expect(boundsOf([])).toBeNull();
  });

  it("a frame on another copy of the world has the same places in it", () => {
    const frame = { west: 170, south: -10, east: 200, north: 10 };
    expect([175, -175, 160, -150].map((lng) => isInBounds({ lat: 0, lng }, frame))).toEqual([true, true, false, false]);
    expect(isInBounds({ lat: 11, lng: 175 }, frame)).toBe(false);
  });
});

it("what was drawn around is inside", () => {
  const notched = [[0, 0], [0, 10], [10, 10], [5, 5], [10, 0]].map(([lat, lng]) => ({ lat: lat as number, lng: lng as number }));
  const at = (lat: number, lng: number) => isInside({ lat, lng }, notched);
  expect([at(2, 5), at(9, 5), at(8, 1), at(8, 9), at(-1, 5), at(2, 365)]).toEqual([true, false, true, true, false, true]);
  expect(isInside({ lat: 0, lng: 0 }, notched.slice(0, 2))).toBe(false);
});

it("measures on a sphere", () => {
  expect(distanceM({ lat: 0, lng: 0 }, { lat: 1, lng: 0 })).toBeCloseTo(111_195, -1);
  expect(distanceM({ lat: 60, lng: 179.5 }, { lat: 60, lng: -179.5 })).toBeCloseTo(55_597, -1);
});
