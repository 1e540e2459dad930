import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { filterOf, orderOf, type DevicesSearch } from "./search";

export type Device = Schemas["Device"];

const PAGE_ITEMS = 200;
const REFRESH_MS = 30_000;

function fetchDevices(groupId: string, search: DevicesSearch, limit: number, nextToken: string | undefined, signal?: AbortSignal) {
  const query = {
    groupId,
    ...filterOf(search),
    sort: search.sort ?? ("created" as const),
    ascending: search.sort ? orderOf(search, search.sort) === "ascending" : true,
    limit,
    nextToken,
  };
  return read(api.GET("/devices", { params: { query }, signal: signal ?? null }));
}

export function devicesQuery(groupId: string, search: DevicesSearch) {
  return infiniteQueryOptions({
    queryKey: ["devices", groupId, search],
    queryFn: ({ pageParam, signal }) => fetchDevices(groupId, search, PAGE_ITEMS, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextToken ?? undefined,
    placeholderData: keepPreviousData,
    // Far down, a refresh would load every page again.
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) > 1 ? false : REFRESH_MS),
  });
}

// All that match, for a selection by id.
export async function loadAll(groupId: string, search: DevicesSearch, max: number, signal?: AbortSignal): Promise<Device[]> {
  const found: Device[] = [];
  let token: string | undefined;
  do {
    const page = await fetchDevices(groupId, search, 1_000, token, signal);
    found.push(...page.items);
    token = page.nextToken ?? undefined;
  } while (token && found.length < max);
  return found.slice(0, max);
}

export const deviceTypesQuery = queryOptions({
  queryKey: ["device-types"],
  queryFn: async ({ signal }) => {
    const found: Schemas["DeviceType"][] = [];
    let nextToken: string | undefined;
    do {
      const page = await read(api.GET("/device/types", { params: { query: { limit: 1_000, nextToken } }, signal }));
      found.push(...page.items);
      nextToken = page.nextToken ?? undefined;
    } while (nextToken);
    return found;
  },
  staleTime: 300_000,
});

export const NETWORKS = ["vendor", "chirpstack", "ttn", "loriot", "thingpark", "mqtt"] as const;

// A device for the sake of its name.
export function deviceNameQuery(deviceId: string) {
  return queryOptions({
    queryKey: ["device-name", deviceId],
    queryFn: ({ signal }) => read(api.GET("/device", { params: { query: { deviceId } }, signal })),
    staleTime: 300_000,
    retry: false,
  });
}
