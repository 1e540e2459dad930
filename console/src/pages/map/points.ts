// Positions and devices come separately: a position is shown before its device is known.
import type { Schemas } from "~/api/client";
import type { PointState } from "~/map/clusters";
import type { MapPoint } from "~/map/point-layer";
import { BATTERY_LOW_PERCENT, batteryPercent, silentSince } from "~/pages/devices/device-state";

type Device = Schemas["Device"];

export interface Position {
  readonly deviceId: string;
  readonly lat: number;
  readonly lng: number;
}

export function stateOf(device: Device, now: number): PointState {
  const battery = batteryPercent(device.battery);
  if (battery !== null && battery < BATTERY_LOW_PERCENT) return "low";
  return silentSince(device, now) === null ? "fine" : "silent";
}

export interface Placed {
  readonly points: readonly MapPoint[];
  // How many devices have no position; null as long as that is not known.
  readonly unplaced: number | null;
}

// `devices` are those that match the filter, null while they are loaded. Without a filter,
// positions need not wait for them.
export type LabelOf = (device: Device) => string | undefined;

const nameOnly: LabelOf = (device) => device.name;

export function place(
  positions: readonly Position[],
  devices: ReadonlyMap<string, Device> | null,
  isFiltered: boolean,
  now: number,
  labelOf: LabelOf = nameOnly,
): Placed {
  if (devices === null) {
    if (isFiltered) return { points: [], unplaced: null };
    return { points: positions.map(({ deviceId, lat, lng }) => ({ id: deviceId, name: deviceId, lat, lng, state: "unknown" as const })), unplaced: null };
  }
  const points = positions.flatMap(({ deviceId, lat, lng }) => {
    const device = devices.get(deviceId);
    return device ? [{ id: deviceId, name: device.name, lat, lng, state: stateOf(device, now), label: labelOf(device) }] : [];
  });
  return { points, unplaced: devices.size - points.length };
}
