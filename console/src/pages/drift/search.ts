import { flagParam, type RawSearch } from "~/search";

export interface DriftSearch {
  below?: true | undefined;
}

export function driftSearch(search: RawSearch): DriftSearch {
  return { below: flagParam(search, "below") ? true : undefined };
}
