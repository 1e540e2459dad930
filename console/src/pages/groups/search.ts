import { textParam, type RawSearch } from "~/search";
import { isNetworkId, type NetworkId } from "./network-ids";

export interface GroupsSearch {
  q?: string | undefined;
}

export function groupsSearch(search: RawSearch): GroupsSearch {
  return { q: textParam(search, "q") };
}

export interface GroupSettingsSearch {
  network?: NetworkId | undefined;
}

export function groupSettingsSearch(search: RawSearch): GroupSettingsSearch {
  const network = textParam(search, "network");
  return { network: isNetworkId(network) ? network : undefined };
}
