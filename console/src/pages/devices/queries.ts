import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { filterOf, orderOf, valuesOf, type DevicesSearch } from "./search";
import { t } from "~/messages/devices";

export type Device = Schemas["Device"];

const PAGE_ITEMS = 200;
const REFRESH_MS = 30_000;

function fetchDevices(groupId: string, search: DevicesSearch, limit: number, nextToken: string | undefined, signal?: AbortSignal) {
  const { sort } = search;
  const isColumn = sort === "name" || sort === "seenAt" || sort === "battery";
  const query = {
    groupId,
    ...filterOf(search),
    ...valuesOf(search, Date.now()),
    sort: isColumn ? sort : ("created" as const),
    ascending: isColumn ? orderOf(search, sort) === "ascending" : true,
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

export const NETWORKS = ["chirpstack", "ttn", "loriot", "thingpark", "vendor", "mqtt"] as const;

export const NETWORK_NAMES: Readonly<Record<(typeof NETWORKS)[number], string>> = {
  chirpstack: "ChirpStack",
  ttn: t("ThingsStack"),
  loriot: "LORIOT",
  thingpark: "ThingPark",
  vendor: t("vendorsNetwork"),
  mqtt: "MQTT",
};

// Those that the service itself speaks with.
export function isSupported(network: string): boolean {
  return (NETWORKS as readonly string[]).includes(network);
}

// What an original id is, for who has the device in their hands.
export function originalIdHint(network: string): string {
  if (network === "vendor") return t("idOfDeviceAtNetworkIn");
  if (network === "mqtt") return t("partOfTopicThatNamesDevice");
  return isSupported(network) ? t("DevEUIOnItsLabel16Hex") : t("networksOwnIdSuchAsDevEUI");
}

// A device for the sake of its name.
export function deviceNameQuery(deviceId: string) {
  return queryOptions({
    queryKey: ["device-name", deviceId],
    queryFn: ({ signal }) => read(api.GET("/device", { params: { query: { deviceId } }, signal })),
    staleTime: 300_000,
    retry: false,
  });
}
