// What the devices of a group measure, by name: what lists and charts offer to choose from.
import { queryOptions } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { sortMeasurements } from "./values";

export type GroupMeasurement = Schemas["GroupMeasurement"];

export function groupMeasurementsQuery(groupId: string, subgroups = true) {
  return queryOptions({
    queryKey: subgroups ? ["group-measurements", groupId] : ["group-measurements", groupId, "own"],
    queryFn: async ({ signal }) => (await read(api.GET("/group/measurements", { params: { query: { groupId, subgroups } }, signal }))).items,
    staleTime: 60_000,
  });
}

export interface NamedMeasurement {
  readonly name: string;
  readonly label?: string | undefined;
  readonly unit?: string | undefined;
  readonly decimals?: number | undefined;
  readonly class: GroupMeasurement["class"];
  readonly isDeclared: boolean;
  readonly devices: number;
  readonly types: readonly string[];
}

// One for each name: types may have the same one, which then is as the first of them has it.
export function byName(items: readonly GroupMeasurement[]): NamedMeasurement[] {
  const found = new Map<string, NamedMeasurement>();
  for (const each of sortMeasurements(items)) {
    const known = found.get(each.name);
    if (known) found.set(each.name, { ...known, devices: known.devices + each.devices, types: [...known.types, each.type] });
    else found.set(each.name, { ...each, types: [each.type] });
  }
  return [...found.values()];
}

// What a group is about, before anybody has chosen: what it consumes, else what most of its devices measure.
export function mostTelling(items: readonly NamedMeasurement[]): NamedMeasurement | undefined {
  const isTelling = (each: NamedMeasurement) => each.devices > 0 && each.class !== "state" && !each.name.startsWith("telemetry.");
  const rank = (each: NamedMeasurement) => (each.class === "counter" || each.class === "amount" ? 2 : 0) + (each.isDeclared ? 1 : 0);
  return items.filter(isTelling).sort((a, b) => rank(b) - rank(a) || b.devices - a.devices)[0];
}
