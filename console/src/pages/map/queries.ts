import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { loadAll } from "~/pages/devices/queries";
import type { DevicesSearch } from "~/pages/devices/search";
import type { Position } from "./points";

export const DEVICES_MAX = 100_000;
const PAGE_ITEMS = 20_000;
const REFRESH_MS = 30_000;
// More of them are not loaded again and again.
const REFRESHED_MAX = 5_000;

type Item = readonly [string, number, number, number | null, number];

export function positionsQuery(groupId: string, subgroups: boolean) {
  return queryOptions({
    queryKey: ["positions", groupId, subgroups],
    queryFn: async ({ signal }) => {
      const found: Position[] = [];
      let nextToken: string | undefined;
      do {
        const query = { groupId, subgroups, limit: PAGE_ITEMS, nextToken };
        const page = await read(api.GET("/group/positions", { params: { query }, signal }));
        for (const [deviceId, lat, lng] of page.items as unknown as readonly Item[]) found.push({ deviceId, lat, lng });
        nextToken = page.nextToken ?? undefined;
      } while (nextToken && found.length < DEVICES_MAX);
      return found;
    },
    placeholderData: keepPreviousData,
    refetchInterval: (query) => ((query.state.data?.length ?? 0) > REFRESHED_MAX ? false : REFRESH_MS),
  });
}

// All that match, by id: the list beside the map, and what a point says.
export function mapDevicesQuery(groupId: string, filter: DevicesSearch) {
  return queryOptions({
    queryKey: ["devices", groupId, "map", filter],
    queryFn: ({ signal }) => loadAll(groupId, filter, DEVICES_MAX, signal),
    refetchInterval: (query) => ((query.state.data?.length ?? 0) > REFRESHED_MAX ? false : REFRESH_MS),
  });
}
