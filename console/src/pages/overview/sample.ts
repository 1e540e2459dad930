// A sample device: made-up temperatures of a cold room, so that there is something to look at before
// the first device of one's own. This tab plays its network, with the token of the group, for an hour at
// most. Each value follows from its time alone: what two tabs report is stored once.
import { useSyncExternalStore } from "react";
import { queryOptions } from "@tanstack/react-query";
import { api, onSignedOut, read, type Schemas } from "~/api/client";
import { queryClient } from "~/api/queries";
import { SERVICE_URL } from "~/base-path";
import { t } from "~/messages/overview";

const NETWORK = "vendor";
const TAG = "sample";
const EVERY_MS = 5_000;
const REPORTED_MS = 3_600_000;
const PAST_MS = 3_600_000;
const PAST_EVERY_MS = 120_000;
const CYCLE_MS = 1_800_000;
// The door is opened once a cycle, so that an alarm has something to be raised by.
const DOOR_MS = 300_000;

// An id of the network that no device has which was sold.
function originalIdOf(groupId: string): string {
  const digits = /^\d+$/.test(groupId) ? BigInt(groupId).toString(16) : "";
  return `5A${digits.padStart(13, "0").slice(-13)}`.toUpperCase();
}

export function isSample(device: Schemas["Device"]): boolean {
  return device.network === NETWORK && (device.tags ?? []).includes(TAG) && device.originalId === originalIdOf(device.groupId);
}

export function sampleQuery(groupId: string) {
  return queryOptions({
    queryKey: ["devices", groupId, "sample"],
    queryFn: async ({ signal }) => {
      const found = await read(api.GET("/devices", { params: { query: { groupId, network: NETWORK, tag: TAG, subgroups: true, limit: 20 } }, signal }));
      return found.items.find(isSample) ?? null;
    },
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

// As the network would report it: the values beside a payload that has them as well.
export function sampleMessage(originalId: string, at: number): object {
  const { celsius, humidity } = sampleValues(at);
  const payload = ((Math.round(celsius * 10) << 8) | humidity).toString(16).padStart(6, "0");
  return { device: originalId, time: at / 1_000, data: payload, celsius, humidity };
}

// The status of the response, or 0 without one.
async function send(token: string, originalId: string, at: number): Promise<number> {
  const headers = { Authorization: "Bearer " + token, "Content-Type": "application/json" };
  const body = JSON.stringify(sampleMessage(originalId, at));
  const request = fetch(`${SERVICE_URL}/network/vendor/data`, { method: "POST", credentials: "omit", headers, body });
  return request.then(({ status }) => status).catch(() => 0);
}

async function fetchToken(groupId: string): Promise<string> {
  const [group] = await read(api.GET("/group", { params: { query: { groupId } } }));
  return group?.token ?? "";
}

// --- reporting ---

let reporting: { readonly deviceId: string; readonly timer: ReturnType<typeof setInterval> } | null = null;
const listeners = new Set<() => void>();

function setReporting(next: typeof reporting): void {
  if (reporting) clearInterval(reporting.timer);
  reporting = next;
  for (const listener of listeners) listener();
}

// Whoever is signed out reports nothing any more.
onSignedOut(() => setReporting(null));

export function stopSample(deviceId: string): void {
  if (reporting?.deviceId === deviceId) setReporting(null);
}

export async function startSample(device: Schemas["Device"]): Promise<void> {
  const token = await fetchToken(device.groupId);
  const end = Date.now() + REPORTED_MS;
  const report = async () => {
    const now = Date.now();
    const status = now > end ? 0 : await send(token, device.originalId, now - (now % EVERY_MS));
    // What is refused for good ends it; after a failure on the way it goes on with the next.
    if (now > end || [400, 401, 403, 404].includes(status)) stopSample(device.deviceId);
  };
  setReporting({ deviceId: device.deviceId, timer: setInterval(() => void report(), EVERY_MS) });
  await report();
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

// The id is unique in its network, so that a group has one sample at most.
export async function createSample(groupId: string): Promise<void> {
  const body = { groupId, name: t("SampleColdRoom"), type: "temperature", network: NETWORK, originalId: originalIdOf(groupId), tags: [TAG] };
  const device = await read(api.POST("/device", { body }));
  const token = await fetchToken(groupId);
  const now = Date.now();
  const begin = now - PAST_MS - (now % PAST_EVERY_MS);
  await Promise.all(Array.from({ length: PAST_MS / PAST_EVERY_MS }, (_, index) => send(token, device.originalId, begin + index * PAST_EVERY_MS)));
  await startSample(device);
  await refresh();
}

export async function deleteSample(device: Schemas["Device"]): Promise<void> {
  stopSample(device.deviceId);
  await read(api.DELETE("/device", { params: { query: { deviceId: device.deviceId, groupId: device.groupId } } }));
  await refresh();
}
