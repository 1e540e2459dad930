// The area of a geofence: drawn on the map, or typed.
import { useMemo, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { boundsOfArea, geofenceOf, parseArea, type Area } from "~/map/area";
import { AreaLayer, type Drawing } from "~/map/area-layer";
import { boundsOf } from "~/map/geometry";
import { MapView } from "~/map/map-view";
import { positionsQuery } from "~/pages/map/queries";
import { useMay } from "~/api/may";
import { MoreFields, TextArea, TextField } from "~/ui/field";
import { t } from "~/messages/notifications";

const DRAWING_HINTS: Record<"circle" | "polygon", string> = {
  circle: t("PressInMiddleOfCircleAnd"),
  polygon: t("PressEachCornerPressFirstOne"),
};

export function AreaField({ groupId, text, error, onChange }: { groupId: string; text: string; error: string | undefined; onChange: (text: string) => void }) {
  const [drawing, setDrawing] = useState<Drawing>(null);
  const area = useMemo(() => parseArea(text), [text]);
  const mayRead = useMay(groupId, "GET /group/positions");
  const positions = useQuery({ ...positionsQuery(groupId, false), enabled: mayRead && !text });
  // An area that is there, or where the devices are; what is drawn does not move the map.
  const [first] = useState(area);
  const fit = useMemo(() => (first ? boundsOfArea(first) : boundsOf(positions.data ?? [])), [first, positions.data]);
  const set = (next: Area) => onChange(JSON.stringify(geofenceOf(next)));
  const circle = area?.kind === "circle" ? area : null;
  const tool = (kind: "circle" | "polygon", label: string) => (
    <button type="button" className="button button-normal" aria-pressed={drawing === kind} onClick={() => setDrawing(drawing === kind ? null : kind)}>
      {label}
    </button>
  );
  return (
    <div className="area-field">
      <div className="area-map">
        <MapView
          label={t("Area")}
          fit={fit}
          controls={
            <>
              {tool("circle", t("DrawCircle"))}
              {tool("polygon", t("DrawPolygon"))}
            </>
          }
        >
          <AreaLayer
            area={area}
            drawing={drawing}
            onDrawn={(drawn) => {
              setDrawing(null);
              set(drawn);
            }}
          />
        </MapView>
      </div>
      <p className="field-hint" role="status">
        {drawing ? DRAWING_HINTS[drawing] : area ? t("DragItsPointsOrMoveThem") : t("DrawAreaOrTypeOneBelow")}
      </p>
      {circle && (
        <div className="area-circle">
          {(["lat", "lng", "radius"] as const).map((name) => (
            <TextField
              key={name}
              label={{ lat: t("Latitude"), lng: t("Longitude"), radius: t("RadiusInMetres") }[name]}
              type="number"
              step="any"
              value={circle[name]}
              onChange={(event) => event.target.value !== "" && set({ ...circle, [name]: Number(event.target.value) })}
            />
          ))}
        </div>
      )}
      <MoreFields summary={t("AsGeoJSON")} error={error}>
        <TextArea label={t("polygonOfGeoJSONOrLatLng")} isCode rows={4} error={error} value={text} onChange={(event) => onChange(event.target.value)} />
      </MoreFields>
    </div>
  );
}
