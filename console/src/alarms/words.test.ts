import { expect, it } from "vitest";
import { alarmWords, sortAlarms, worstWords, type Alarm } from "./words";

const ALARM: Alarm = {
  id: "alm_1",
  groupId: "1",
  notificationId: "ntf_1",
  notificationName: "Dry",
  reason: "measurement",
  severity: "warning",
  state: "raised",
  raisedAt: "2026-11-19T08:00:00Z",
};
const find = (name: string) => (name === "moisture" ? { name, label: "Soil moisture", unit: "%", decimals: 0 } : undefined);

it.each([
  [{ measurement: "moisture", below: 15, value: 12, worstValue: 9 }, "Soil moisture 12 % below 15 %", "9 %"],
  [{ measurement: "celsius", above: -15, value: -12.5, worstValue: -9 }, "celsius -12.5 above -15", "-9"],
  [{ measurement: "moisture", below: 15 }, "Soil moisture: no value for too long", ""],
  [{ value: 3, worstValue: 3 }, "Dry", "3"],
  [{ reason: "deviceSilent" }, "device silent", ""],
  [{ reason: "something new" }, "something new", ""],
])("says %j", (change, words, worst) => {
  const alarm = { ...ALARM, ...change };
  expect(alarmWords(alarm, find)).toBe(words);
  expect(worstWords(alarm, find)).toBe(worst);
});

it("says the limit alone to those who may not read values", () => {
  expect(alarmWords({ ...ALARM, measurement: "moisture", below: 15 }, find, false)).toBe("Soil moisture below 15 %");
});

it("puts first what nobody cares about yet", () => {
  const alarm = (id: string, state: Alarm["state"], severity: Alarm["severity"], hour: number): Alarm => ({ ...ALARM, id, state, severity, raisedAt: `2026-11-19T0${hour}:00:00Z` });
  const sorted = sortAlarms([
    alarm("resolved", "resolved", "critical", 9),
    alarm("seen", "acknowledged", "critical", 8),
    alarm("old", "raised", "warning", 1),
    alarm("new", "raised", "warning", 2),
    alarm("worst", "raised", "critical", 1),
  ]);
  expect(sorted.map((each) => each.id)).toEqual(["worst", "new", "old", "seen", "resolved"]);
});
