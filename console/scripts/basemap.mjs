// The world as flat paths, cut out of Natural Earth (public domain, npm `world-atlas`) while the
// console is built. Its shapes are stitched for a sphere: drawn flat as they are, Russia's edge
// crosses the whole map. The projection cuts them at the antimeridian.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { geoMercator, geoPath } from "d3-geo";
import { feature, mesh } from "topojson-client";

// The width of the world: a unit is a pixel at zoom 7 and at zoom 9, beyond which each is too coarse anyway.
const UNITS = { "110m": 2 ** 15, "50m": 2 ** 17 };
export const DETAILS = Object.keys(UNITS);

const require = createRequire(import.meta.url);

function projectionTo(units) {
  // No resampling: between two points of the source, the map has a straight line.
  return geoMercator().translate([units / 2, units / 2]).scale(units / (2 * Math.PI)).precision(0);
}

class Lines {
  lines = [];

  moveTo(x, y) {
    this.lines.push([[Math.round(x), Math.round(y)]]);
  }

  lineTo(x, y) {
    this.lines.at(-1).push([Math.round(x), Math.round(y)]);
  }

  closePath() {}
}

function linesOf(shape, projection) {
  const lines = new Lines();
  geoPath(projection, lines)(shape);
  return lines.lines;
}

// Points beside each other, since steps are short where coordinates are long.
function encode(line) {
  let [x, y] = line[0];
  let steps = "";
  for (const [nextX, nextY] of line.slice(1)) {
    if (nextX === x && nextY === y) continue;
    steps += `${steps && nextX >= x ? " " : ""}${nextX - x}${nextY >= y ? " " : ""}${nextY - y}`;
    [x, y] = [nextX, nextY];
  }
  return steps && `M${line[0][0]} ${line[0][1]}l${steps}`;
}

function boxOf(lines) {
  const points = lines.flat();
  const least = (axis) => points.reduce((found, point) => Math.min(found, point[axis]), Infinity);
  const most = (axis) => points.reduce((found, point) => Math.max(found, point[axis]), -Infinity);
  return [least(0), least(1), most(0), most(1)];
}

function pathsOf(shapes, projection, end) {
  const paths = shapes.map((shape) => {
    const lines = linesOf(shape, projection).filter((line) => line.length > 1);
    const path = lines.map(encode).filter(Boolean).map((each) => each + end).join("");
    return path && [...boxOf(lines), path];
  });
  return paths.filter(Boolean);
}

function partsOf(geometry, part) {
  return geometry.coordinates.map((coordinates) => ({ type: part, coordinates }));
}

export function cutBasemap(detail) {
  const atlas = (name) => JSON.parse(readFileSync(require.resolve(`world-atlas/${name}-${detail}.json`), "utf8"));
  const land = atlas("land");
  const countries = atlas("countries");
  const lands = feature(land, land.objects.land).features.flatMap(({ geometry }) => partsOf(geometry, "Polygon"));
  const borders = partsOf(mesh(countries, countries.objects.countries, (one, other) => one !== other), "LineString");
  const projection = projectionTo(UNITS[detail]);
  return JSON.stringify({ units: UNITS[detail], land: pathsOf(lands, projection, "z"), borders: pathsOf(borders, projection, "") });
}

// For Vite: `basemap/110m.json` and `basemap/50m.json` beside the other files.
export function basemapPlugin() {
  return {
    name: "basemap",
    generateBundle() {
      for (const detail of DETAILS) this.emitFile({ type: "asset", fileName: `basemap/${detail}.json`, source: cutBasemap(detail) });
    },
    configureServer(server) {
      for (const detail of DETAILS)
        server.middlewares.use(`/console/basemap/${detail}.json`, (_request, response) => {
          response.setHeader("Content-Type", "application/json");
          response.end(cutBasemap(detail));
        });
    },
  };
}
