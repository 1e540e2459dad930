import { isNetworkId, type NetworkId } from "~/pages/groups/network-ids";
import { textParam, type RawSearch } from "~/search";

export interface OverviewSearch {
  network?: NetworkId | undefined;
}

export function overviewSearch(search: RawSearch): OverviewSearch {
  const network = textParam(search, "network");
  return { network: isNetworkId(network) ? network : undefined };
}
