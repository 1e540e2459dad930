// A device as it is typed, and the bodies of the two requests that create one.
import type { Schemas } from "~/api/client";
import { parseTags } from "./bulk";

export const VENDOR = "vendor";

export interface DeviceDraft {
  readonly name: string;
  readonly originalId: string;
  readonly type: string;
  readonly network: string;
  readonly tags: string;
  // The rest is of a registration at the vendor's network.
  readonly isRegistered: boolean;
  readonly pac: string;
  readonly deviceTypeId: string;
  readonly activable: boolean;
  readonly automaticRenewal: boolean;
  readonly lat: string;
  readonly lng: string;
}

export const EMPTY_DEVICE: DeviceDraft = {
  name: "",
  originalId: "",
  type: "generic",
  network: "",
  tags: "",
  isRegistered: false,
  pac: "",
  deviceTypeId: "",
  activable: true,
  automaticRenewal: true,
  lat: "",
  lng: "",
};

export function deviceBody({ name, originalId, type, network, tags }: DeviceDraft, groupId: string): Schemas["DeviceInput"] {
  return { groupId, name, originalId, type, network, tags: parseTags(tags) };
}

// Text that is no number goes as it is: the service says what is wrong with it, and where.
function numberOf(text: string): number {
  const number = Number(text);
  return Number.isNaN(number) ? (text as unknown as number) : number;
}

export function registrationBody(draft: DeviceDraft, groupId: string): Schemas["DeviceAtVendor"] {
  return {
    input: deviceBody(draft, groupId),
    vendor: {
      id: draft.originalId,
      deviceTypeId: draft.deviceTypeId,
      deviceName: draft.name,
      pac: draft.pac,
      activable: draft.activable,
      automaticRenewal: draft.automaticRenewal,
      ...(draft.lat.trim() && { lat: numberOf(draft.lat) }),
      ...(draft.lng.trim() && { lng: numberOf(draft.lng) }),
    },
  };
}
