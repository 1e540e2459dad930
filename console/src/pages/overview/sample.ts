// A sample device: made-up temperatures of a cold room, so that there is something to look at before
// the first device of one's own. It reports from this tab, for an hour at most, and is known by its
// network. Each value follows from its time alone: what two tabs report is stored once.
import { useSyncExternalStore } from "react";
import { queryOptions } from "@tanstack/react-query";
import { ApiProblem, api, read, type Schemas } from "~/api/client";
import { queryClient } from "~/api/queries";

export const SAMPLE_NETWORK = "sample";
const EVERY_MS = 5_000;
const REPORTED_MS = 3_600_000;
const PAST_MS = 3_600_000;
const PAST_EVERY_MS = 60_000;
const CYCLE_MS = 1_800_000;
// The door is opened once a cycle, so that there is something to be told of.
const DOOR_MS = 300_000;

export function sampleQuery(groupId: string) {
  return queryOptions({
    queryKey: ["devices", groupId, "sample"],
    queryFn: ({ signal }) => read(api.GET("/devices", { params: { query: { groupId, network: SAMPLE_NETWORK, subgroups: true, limit: 1 } }, signal })),
  });
}

const rounded = (value: number) => Math.round(value * 10) / 10;

// A number from 0 to 1 that looks like chance and is always the same.
function noiseAt(at: number): number {
  const turned = Math.sin(at / EVERY_MS) * 10_000;
  return turned - Math.floor(turned);
}

export function sampleValues(at: number): { celsius: number; humidity: number } {
  const inCycle = at % CYCLE_MS;
  const isOpen = inCycle < DOOR_MS;
  const warmth = isOpen ? 6 * Math.sin((Math.PI * inCycle) / DOOR_MS) : 0;
  return { celsius: rounded(4 + warmth + noiseAt(at) * 0.4), humidity: Math.round(62 + 2 * warmth + noiseAt(at + 1) * 3) };
}

export function sampleRecord(deviceId: string, at: number): Schemas["DeviceDataInput"] {
  return { deviceId, timestamp: new Date(at).toISOString(), deviceType: "temperature", configuration: "{}", __raw: "", data: JSON.stringify(sampleValues(at)) };
}

async function send(deviceId: string, times: readonly number[]): Promise<void> {
  await read(api.POST("/device/data/batch", { body: { items: times.map((at) => sampleRecord(deviceId, at)) } }));
}

// --- reporting ---

let reporting: { readonly deviceId: string; readonly timer: ReturnType<typeof setInterval> } | null = null;
const listeners = new Set<() => void>();

function setReporting(next: typeof reporting): void {
  if (reporting) clearInterval(reporting.timer);
  reporting = next;
  for (const listener of listeners) listener();
}

export function stopSample(): void {
  setReporting(null);
}

export function startSample(deviceId: string): void {
  const end = Date.now() + REPORTED_MS;
  const report = () => {
    const now = Date.now();
    if (now > end) {
      stopSample();
      return;
    }
    // What is refused for good ends it; after a failure of the way there it goes on with the next.
    send(deviceId, [now - (now % EVERY_MS)]).catch((error: unknown) => {
      if (error instanceof ApiProblem && [400, 401, 403, 404].includes(error.status)) stopSample();
    });
  };
  setReporting({ deviceId, timer: setInterval(report, EVERY_MS) });
  report();
}

export function useIsReporting(deviceId: string): boolean {
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  return useSyncExternalStore(subscribe, () => reporting?.deviceId === deviceId);
}

// --- creating and deleting ---

async function refresh(): Promise<void> {
  await Promise.all(["devices", "overview", "records", "group-metrics"].map((key) => queryClient.invalidateQueries({ queryKey: [key] })));
}

// The id is unique in the service, so that a group has one sample at most.
export async function createSample(groupId: string): Promise<void> {
  const body = { groupId, name: "Sample: cold room", type: "temperature", network: SAMPLE_NETWORK, originalId: `sample-${groupId}`, tags: ["sample"] };
  const { deviceId } = await read(api.POST("/device", { body }));
  const now = Date.now();
  const begin = now - PAST_MS - (now % PAST_EVERY_MS);
  await send(deviceId, Array.from({ length: PAST_MS / PAST_EVERY_MS }, (_, index) => begin + index * PAST_EVERY_MS));
  startSample(deviceId);
  await refresh();
}

export async function deleteSample(device: Schemas["Device"]): Promise<void> {
  stopSample();
  await read(api.DELETE("/device", { params: { query: { deviceId: device.deviceId, groupId: device.groupId } } }));
  await refresh();
}
