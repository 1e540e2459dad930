// What a row says about a device: its charge, and whether it has been silent for too long.
import type { Schemas } from "~/api/client";

export const BATTERY_LOW_PERCENT = 20;
const INTERVAL_S_MAX = 366 * 86_400;

// A charge in percent; null where the text of the network says nothing about it.
export function batteryPercent(text: string | null | undefined): number | null {
  const found = /^\s*(\d{1,3}(?:\.\d+)?)\s*%?\s*$/.exec(text ?? "");
  const percent = found ? Number(found[1]) : NaN;
  return percent >= 0 && percent <= 100 ? percent : null;
}

function interval(value: unknown, times: number): number | null {
  if (typeof value !== "number" || !Number.isFinite(value)) return null;
  const seconds = value * times;
  return seconds > 0 && seconds <= INTERVAL_S_MAX ? seconds * 1_000 : null;
}

// How long a device of this configuration may be silent, as the service has it: as configured,
// or twice the interval of its reports or heartbeats. Null where it is not monitored.
export function silentAfterMs(configuration: string | null | undefined): number | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(configuration ?? "");
  } catch {
    return null;
  }
  if (parsed === null || typeof parsed !== "object") return null;
  const given = parsed as Record<string, unknown>;
  if (given.silentAfterSeconds !== undefined && given.silentAfterSeconds !== null) return interval(given.silentAfterSeconds, 1);
  return interval(given.reportEverySeconds, 2) ?? interval(given.heartbeatEverySeconds, 2);
}

// Since when a device is silent, or null. One that was never seen is not: it may be in storage.
export function silentSince(
  device: Pick<Schemas["Device"], "configuration" | "seenAt">,
  now: number,
): number | null {
  const allowed = silentAfterMs(device.configuration);
  const seen = device.seenAt ?? null;
  return allowed !== null && seen !== null && now - seen > allowed ? seen : null;
}
