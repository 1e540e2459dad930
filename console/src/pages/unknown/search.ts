import { flagParam, type RawSearch } from "~/search";

export interface UnknownDevicesSearch {
  below?: true | undefined;
}

export function unknownDevicesSearch(search: RawSearch): UnknownDevicesSearch {
  return { below: flagParam(search, "below") ? true : undefined };
}
