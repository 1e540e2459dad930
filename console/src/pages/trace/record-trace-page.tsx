import { getRouteApi } from "@tanstack/react-router";
import { TraceView, useTrace } from "./trace-view";

const route = getRouteApi("/frame/r/$recordId");

export function RecordTracePage() {
  const { recordId } = route.useParams();
  return <TraceView query={useTrace({ recordId })} />;
}
