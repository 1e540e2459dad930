import { textParam, type RawSearch } from "~/search";

export interface TypesSearch {
  q?: string | undefined;
}

export function typesSearch(search: RawSearch): TypesSearch {
  return { q: textParam(search, "q") };
}

export interface TypeSearch {
  // Only stored payloads of this device are tried.
  device?: string | undefined;
}

export function typeSearch(search: RawSearch): TypeSearch {
  return { device: textParam(search, "device") };
}
