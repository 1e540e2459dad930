// The networks that the first steps have a tab for, without their words: addresses name them.
export const NETWORKS = ["chirpstack", "ttn", "loriot", "thingpark", "vendor", "mqtt", "http"] as const;
export type NetworkId = (typeof NETWORKS)[number];

export function isNetworkId(text: string | undefined): text is NetworkId {
  return NETWORKS.some((each) => each === text);
}
