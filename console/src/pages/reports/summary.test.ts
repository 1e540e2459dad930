import { expect, it } from "vitest";
import type { Content } from "./form";
import type { Report } from "./queries";
import { contentWords, runTone, runWords } from "./summary";

const find = (name: string) => (name === "celsius" ? { name, label: "Temperature", unit: "°C" } : undefined);

it.each<[Content, Record<string, unknown>, Report["every"], string]>([
  ["series", { measurement: "celsius", combine: "none" }, "day", "Temperature, each device by itself, by the hour"],
  ["series", { measurement: "level", of: "max", combine: "percentile", percentile: 95, tags: ["quay"] }, "month", "level, largest, percentile 95 of the devices, by the day, tagged quay"],
  ["records", { deviceId: "dev_1" }, "day", "Data, one device"],
  ["devices", { type: "meter", batteryBelow: 20, subgroups: true }, "week", "Devices, of type meter, with groups below, battery below 20 %"],
  ["alarms", { severity: "critical", state: "open" }, "week", "Alarms: critical, still open"],
])("%s with %j", (content, parameters, every, words) => {
  expect(contentWords({ content, parameters, every }, find)).toBe(words);
});

it.each<[Parameters<typeof runWords>[0], string, string]>([
  [{ state: "queued", recipients: 2, failed: 0 }, "idle", "on its way"],
  [{ state: "queued", recipients: 2, failed: 0, error: "refused" }, "warn", "to be tried again"],
  [{ state: "sent", recipients: 2, failed: 0 }, "good", "sent"],
  [{ state: "failed", recipients: 0, failed: 0, error: "too large" }, "bad", "not made"],
  [{ state: "failed", recipients: 3, failed: 1, error: "refused" }, "bad", "not delivered to 1 of 3"],
  [{ state: "stopped", recipients: 0, failed: 0 }, "bad", "stopped"],
])("%j is %s: %s", (run, tone, words) => {
  expect([runTone(run), runWords(run)]).toEqual([tone, words]);
});
