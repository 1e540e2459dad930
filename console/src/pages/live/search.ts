import { choiceParam, listParam, textParam, type RawSearch } from "~/search";
import { KINDS } from "~/live/rates";

export interface LiveSearch {
  // Kinds that are shown; absent for all.
  kind?: string[] | undefined;
  device?: string | undefined;
  filter?: string | undefined;
  view?: "devices" | undefined;
  // What arrived before this date, instead of what arrives now.
  until?: string | undefined;
  // The record in the drawer.
  record?: string | undefined;
}

export function liveSearch(search: RawSearch): LiveSearch {
  const kinds = KINDS.filter((kind) => listParam(search, "kind")?.includes(kind));
  const until = textParam(search, "until");
  return {
    kind: kinds.length > 0 && kinds.length < KINDS.length ? kinds : undefined,
    device: textParam(search, "device"),
    filter: textParam(search, "filter"),
    view: choiceParam(search, "view", ["devices"]),
    until: until !== undefined && !Number.isNaN(Date.parse(until)) ? until : undefined,
    record: textParam(search, "record"),
  };
}
