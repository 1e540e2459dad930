// A map with what lies on it as its children: <MapView …><PointLayer …/></MapView>. Its ground is
// the built-in map, with the operator's street map above it or a server's tiles instead. Arrow keys
// move it, + and - zoom.
import { createContext, use, useEffect, useRef, useState, type ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { Map as LeafletMap, TileLayer } from "leaflet";
import { settingsQuery } from "~/api/queries";
import { useThemeInUse } from "~/preferences";
import { DETAIL_ZOOM_MAX, cityNames } from "./basemap";
import { ZOOM_MAX, wrapLng, type Bounds, type View } from "./geometry";
import { LabelLayer } from "./labels";
import { BasemapLayer } from "./painter";
import type { Streets } from "./street-layer";
import { t } from "~/messages/map";
import "./map.css";

const WORLD: View = { lat: 25, lng: 10, zoom: 2 };
// Closer than this the built-in map is one colour, and says nothing about where things are.
const FIT_ZOOM_MAX = { tiles: 13, builtIn: DETAIL_ZOOM_MAX };
const FIT_PADDING_PX = 40;

const Context = createContext<LeafletMap | null>(null);

// The map of the MapView around it.
export function useLeaflet(): LeafletMap {
  const map = use(Context);
  if (!map) throw new Error("There is no MapView around this.");
  return map;
}

export function boundsInView(map: LeafletMap): Bounds {
  const bounds = map.getBounds();
  return { west: bounds.getWest(), south: bounds.getSouth(), east: bounds.getEast(), north: bounds.getNorth() };
}

const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

function createMap(element: HTMLElement, view: View): LeafletMap {
  const isAnimated = !isStill();
  const map = new LeafletMap(element, {
    attributionControl: false,
    zoomControl: false,
    minZoom: 1,
    maxZoom: ZOOM_MAX,
    worldCopyJump: true,
    zoomAnimation: isAnimated,
    fadeAnimation: false,
    inertia: isAnimated,
  });
  map.setView([view.lat, view.lng], view.zoom, { animate: false });
  return map;
}

function viewOf(map: LeafletMap): View {
  const { lat, lng } = map.getCenter();
  return { lat, lng: wrapLng(lng), zoom: map.getZoom() };
}

// Shown once, until the page is loaded again.
let isStreetNoteDismissed = false;

function Ground({ onFailed, isFailed }: { onFailed: () => void; isFailed: boolean }) {
  const map = useLeaflet();
  const settings = useQuery(settingsQuery);
  const tiles = settings.data?.mapTiles ?? null;
  const isKnown = settings.data !== undefined || settings.isError;
  const theme = useThemeInUse();
  const failed = useRef(onFailed);
  failed.current = onFailed;
  const layer = useRef<BasemapLayer | null>(null);
  const streets = useRef<Streets | null>(null);
  const [labels, setLabels] = useState<LabelLayer | null>(null);
  useEffect(() => {
    if (!tiles) return;
    const added = new TileLayer(tiles, { maxZoom: ZOOM_MAX }).addTo(map);
    added.on("tileerror", () => failed.current());
    return () => void added.remove();
  }, [map, tiles]);
  const isBuiltIn = isKnown && (!tiles || isFailed);
  useEffect(() => {
    if (!isBuiltIn) return;
    // Below the tiles that do arrive.
    const added = new BasemapLayer({ zIndex: 0, maxZoom: ZOOM_MAX }).addTo(map);
    const names = new LabelLayer().addTo(map);
    layer.current = added;
    setLabels(names);
    let isThere = true;
    // Without names it is still a map.
    cityNames().then((source) => isThere && names.addSource(source), () => {});
    return () => {
      isThere = false;
      layer.current = null;
      setLabels(null);
      names.remove();
      added.remove();
    };
  }, [map, isBuiltIn]);
  const file = isFailed ? null : (settings.data?.mapFile ?? null);
  useEffect(() => {
    if (!file || !labels) return;
    let isThere = true;
    import("./street-layer").then(
      ({ addStreets }) => {
        if (isThere) streets.current = addStreets(map, labels, file, () => failed.current());
      },
      () => failed.current(),
    );
    return () => {
      isThere = false;
      streets.current?.remove();
      streets.current = null;
    };
  }, [map, file, labels]);
  useEffect(() => {
    layer.current?.redraw();
    streets.current?.redraw();
    labels?.redraw();
  }, [theme]); // eslint-disable-line react-hooks/exhaustive-deps
  return null;
}

function Zoom() {
  const map = useLeaflet();
  const [zoom, setZoom] = useState(map.getZoom());
  useEffect(() => {
    const onZoom = () => setZoom(map.getZoom());
    map.on("zoomend", onZoom);
    return () => void map.off("zoomend", onZoom);
  }, [map]);
  return (
    <div className="map-zoom">
      <button type="button" aria-label={t("ZoomIn")} aria-disabled={zoom >= ZOOM_MAX} onClick={() => map.zoomIn()}>
        +
      </button>
      <button type="button" aria-label={t("ZoomOut")} aria-disabled={zoom <= map.getMinZoom()} onClick={() => map.zoomOut()}>
        −
      </button>
    </div>
  );
}

function Notes({ hasTilesFailed }: { hasTilesFailed: boolean }) {
  const map = useLeaflet();
  const settings = useQuery(settingsQuery);
  const [zoom, setZoom] = useState(map.getZoom());
  const [isDismissed, setDismissed] = useState(isStreetNoteDismissed);
  useEffect(() => {
    const onZoom = () => setZoom(map.getZoom());
    map.on("zoomend", onZoom);
    return () => void map.off("zoomend", onZoom);
  }, [map]);
  const tiles = settings.data?.mapTiles;
  const hasStreets = Boolean(tiles || settings.data?.mapFile);
  const named = settings.data?.mapAttribution;
  const sources = [...(hasStreets && named ? [named] : []), ...(!tiles || hasTilesFailed ? [t("NaturalEarth"), "GeoNames"] : [])];
  const isBare = !hasStreets && zoom > DETAIL_ZOOM_MAX && !isDismissed;
  return (
    <>
      {(hasTilesFailed || isBare) && (
        <p className="map-note" role="status">
          {hasTilesFailed ? t("streetMapCannotBeLoadedBuilt") : t("NoStreetMapHereOperatorCan")}
          {isBare && (
            <button
              type="button"
              aria-label={t("Dismiss")}
              onClick={() => {
                isStreetNoteDismissed = true;
                setDismissed(true);
              }}
            >
              ×
            </button>
          )}
        </p>
      )}
      <p className="map-source">{sources.join(", ")}</p>
    </>
  );
}

export function MapView({
  label,
  view,
  fit,
  onView,
  controls,
  children,
}: {
  label: string;
  // Where it is: another value moves it there.
  view?: View | null | undefined;
  // Without a view: what it shows, as soon as that is known. Another value moves it there.
  fit?: Bounds | null | undefined;
  // Called when somebody has moved it.
  onView?: ((view: View) => void) | undefined;
  // Further buttons, below those for the zoom.
  controls?: ReactNode;
  children?: ReactNode;
}) {
  const element = useRef<HTMLDivElement>(null);
  const [map, setMap] = useState<LeafletMap | null>(null);
  const [hasTilesFailed, setTilesFailed] = useState(false);
  const shown = useRef<string>("");
  const first = useRef(view ?? WORLD);
  const refit = useRef(() => undefined as void);
  useEffect(() => {
    if (!element.current) return;
    const created = createMap(element.current, first.current);
    setMap(created);
    const resize = new ResizeObserver(() => {
      // Nobody has moved it: what was to be seen is seen in the new size, too.
      shown.current = "";
      created.invalidateSize({ pan: false });
      refit.current();
    });
    resize.observe(element.current);
    return () => {
      resize.disconnect();
      setMap(null);
      created.remove();
    };
  }, []);

  const latest = useRef(onView);
  latest.current = onView;
  useEffect(() => {
    if (!map) return;
    // What was fitted or came out of the address was not somebody's move.
    const onMoved = () => {
      const at = JSON.stringify(viewOf(map));
      if (shown.current !== "" && at !== shown.current) latest.current?.(viewOf(map));
      shown.current = at;
    };
    shown.current = JSON.stringify(viewOf(map));
    map.on("moveend", onMoved);
    return () => void map.off("moveend", onMoved);
  }, [map]);

  const given = view ? `${view.lat},${view.lng},${view.zoom}` : "";
  useEffect(() => {
    if (!map || !view) return;
    const { lat, lng, zoom } = viewOf(map);
    const isThere = zoom === view.zoom && map.distance([lat, lng], [view.lat, view.lng]) < 40_075_017 / 256 / 2 ** zoom * 4;
    if (isThere) return;
    shown.current = "";
    map.setView([view.lat, view.lng], view.zoom, { animate: false });
  }, [map, given]); // eslint-disable-line react-hooks/exhaustive-deps
  const settings = useQuery(settingsQuery);
  const hasStreets = Boolean(settings.data?.mapTiles || settings.data?.mapFile);
  const fitZoomMax = hasStreets && !hasTilesFailed ? FIT_ZOOM_MAX.tiles : FIT_ZOOM_MAX.builtIn;
  const isGroundKnown = !settings.isPending;
  const fitted = fit && !view && isGroundKnown ? `${fit.west},${fit.south},${fit.east},${fit.north}` : "";
  refit.current = () => {
    if (!map || !fit || !fitted) return;
    shown.current = "";
    const padding: [number, number] = [FIT_PADDING_PX, FIT_PADDING_PX];
    map.fitBounds([[fit.south, fit.west], [fit.north, fit.east]], { animate: false, maxZoom: fitZoomMax, padding });
  };
  useEffect(() => refit.current(), [map, fitted]);

  return (
    <div className="map">
      <div ref={element} className="map-canvas" role="application" aria-label={label} aria-roledescription={t("roleMap")} />
      {map && (
        <Context value={map}>
          <div className="map-controls">
            <Zoom />
            {controls}
          </div>
          <Ground isFailed={hasTilesFailed} onFailed={() => setTilesFailed(true)} />
          <Notes hasTilesFailed={hasTilesFailed} />
          {children}
        </Context>
      )}
    </div>
  );
}
