// What is said of an unknown device, and what its message says of itself.
import type { Schemas } from "~/api/client";
import type { Tone } from "~/ui/pill";
import { t } from "~/messages/unknown";

export type UnknownDevice = Schemas["UnknownDevice"];

interface ReasonWords {
  readonly tone: Tone;
  readonly state: string;
  readonly advice: string;
}

const REASONS: Readonly<Record<string, ReasonWords>> = {
  unknown: { tone: "warn", state: t("notCreated"), advice: t("NoDeviceOfThisNetworkHas") },
  malformed: { tone: "bad", state: t("noValidId"), advice: t("NoDeviceOfThisNetworkCan") },
  otherGroup: { tone: "bad", state: t("inAnotherGroup"), advice: t("deviceHasThisIdButToken") },
  rejected: { tone: "bad", state: "rejected", advice: t("deviceExistsButItsUplinkCould") },
};

export function reasonWords(reason: string): ReasonWords {
  return REASONS[reason] ?? { tone: "warn", state: reason, advice: "" };
}

// A record of an app client names our own id, which nobody can choose.
export function canBeCreated(device: UnknownDevice): boolean {
  return device.reason === "unknown" && device.network !== "";
}

export function keyOf(device: UnknownDevice): string {
  return JSON.stringify([device.groupId, device.network, device.originalId]);
}

function memberOf(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((found, name) => (typeof found === "object" && found !== null ? (found as Record<string, unknown>)[name] : undefined), value);
}

// What the network calls the device, or else its id.
export function nameOf({ payload, originalId }: UnknownDevice): string {
  let message: unknown;
  try {
    message = JSON.parse(payload ?? "");
  } catch {
    return originalId;
  }
  const names = [memberOf(message, "deviceInfo", "deviceName"), memberOf(message, "end_device_ids", "device_id"), memberOf(message, "DevEUI_uplink", "CustomerData", "name")];
  return names.find((each): each is string => typeof each === "string" && each !== "") ?? originalId;
}
