import { expect, it } from "vitest";
import type { Schemas } from "~/api/client";
import { bodyOf, differences, emptyForm, formOf, isComplete } from "./form";
import { fieldsOf } from "~/pages/connectors/schema-form";
import { drawnSpan, reasonWords, recipientWords, scheduleWords, sliderOf, timesWords, weekSpans } from "./words";

it.each([
  [undefined, {}, "Every event"],
  ["deviceSilent", {}, "A device is silent for 1 day"],
  ["deviceSilent", { silentAfter: 7_200 }, "A device is silent for 2 hours"],
  ["batteryLow", { batteryBelow: 15 }, "A battery is below 15 %"],
  ["geofenceExit", { geofence: { lat: 1, lng: 2, radius: 2_500 } }, "A device leaves a circle of 2.5 km"],
  ["geofenceEnter", { geofence: { type: "Polygon", coordinates: [] } }, "A device enters a polygon"],
  ["connectorFailing", { failingAfter: 1 }, "A connector fails once"],
  ["doorOpen", {}, "An event or a record says doorOpen"],
])("%s %j", (reason, params, words) => expect(reasonWords(reason, params)).toBe(words));

it("says whom it reaches", () => {
  const nameOf = (id: string) => `Name of ${id}`;
  expect(recipientWords("email", { to: ["ada@example.com", "bo@example.com"] }, nameOf)).toBe("ada@example.com, bo@example.com");
  expect(recipientWords("webhook", { url: "https://example.com/a", contactPoints: ["cpt_a"] }, nameOf)).toBe("https://example.com/a, Name of cpt_a");
  expect(recipientWords("chat", { url: "slack://********" }, nameOf)).toBe("Chat slack");
  expect(recipientWords("contactPoints", { contactPoints: ["cpt_a", "cpt_b"] }, nameOf)).toBe("Name of cpt_a, Name of cpt_b");
});

const at = (Hours: number, Minutes = 0) => ({ Hours, Minutes });

it.each([
  [{ Day: 1 }, [[0, 1_440]], "Monday, UTC"],
  [{ Day: 2, From: at(8), To: at(17, 30) }, [[1_920, 2_490]], "Tuesday 08:00 to 17:30, UTC"],
  [{ Day: 1, From: at(22), To: at(6) }, [[1_320, 1_800]], "Monday 22:00 to 06:00, UTC"],
  [{ Day: 0, From: at(22), To: at(6) }, [[9_960, 10_080], [0, 360]], "Sunday 22:00 to 06:00, UTC"],
  [{ Day: 7, From: at(12) }, [[9_360, 10_080]], "Sunday 12:00 to 24:00, UTC"],
  [{ Day: 1, From: at(9), To: at(9) }, [[540, 1_980]], "Monday 09:00 to 09:00, UTC"],
])("the week of %j", (schedule, spans, words) => {
  expect(weekSpans(schedule)).toEqual(spans);
  expect(scheduleWords(schedule, "UTC")).toBe(words);
});

const fields = fieldsOf(JSON.stringify({ properties: { url: { type: "string" }, when: { type: "string" }, batteryBelow: { type: "number" } }, required: ["url"] }));

it("a form sends what belongs to its reason, and nothing else", () => {
  const form = { ...emptyForm("Europe/Paris"), name: "Left", reason: "geofenceExit", batteryBelow: "10", throttle: "60", values: { url: "https://example.com" } };
  expect(isComplete(form, "webhook", fields)).toBe("It needs an area.");
  const drawn = { ...form, geofence: '{"lat":51,"lng":4,"radius":500}', day: "1", from: "22:00", to: "06:00" };
  expect(isComplete(drawn, "webhook", fields)).toBeUndefined();
  const body = bodyOf(drawn, fields);
  expect(JSON.parse(body.params)).toEqual({ url: "https://example.com", throttle: 60, timezone: "Europe/Paris", geofence: { lat: 51, lng: 4, radius: 500 } });
  expect(body.schedule).toEqual({ Day: 1, From: at(22), To: at(6) });
});

it("a form made of a notification makes the same again", () => {
  const params = { url: "https://example.com", contactPoints: ["cpt_a", "cpt_b"], when: "message.radius < 500", batteryBelow: 15 };
  const stored = { name: "Low", reason: "batteryLow", type: "webhook", params: JSON.stringify(params), schedule: '{"Day":0,"From":{"Hours":8,"Minutes":5}}' };
  const form = formOf(stored as Schemas["Notification"], fields);
  const body = bodyOf(form, fields);
  expect(JSON.parse(body.params)).toEqual(params);
  expect(body.schedule).toEqual({ Day: 7, From: at(8, 5), To: undefined });
  expect(differences(form, { ...form, name: "Empty" })).toEqual([{ label: "Name", mine: "Low", theirs: "Empty" }]);
});

it.each([
  [480, 1_020, "08:00", "17:00"],
  [1_020, 480, "08:00", "17:00"],
  [487, 1_013, "08:00", "17:00"],
  [490, 490, "08:00", "09:00"],
  [0, 1_440, "", ""],
  [1_200, 1_440, "20:00", "23:59"],
  [1_439, 1_440, "23:00", "23:59"],
])("dragging from minute %i to %i is %s to %s", (start, end, from, to) => {
  expect(drawnSpan(start, end)).toMatchObject({ fromText: from, toText: to });
});

it("says what a backtest has found", () => {
  const device = (count: number) => ({ deviceId: "dev_1", alarms: Array.from({ length: count }, () => ({ raisedAt: "2026-11-19T08:00:00Z" })) });
  expect(timesWords({ items: [], messages: 0 })).toBe("In the last week it would not have been raised.");
  expect(timesWords({ items: [device(3)], messages: 6 })).toBe("In the last week it would have been raised 3 times, 6 deliveries.");
  expect(timesWords({ items: [device(1), device(1)], messages: 1, nextToken: "more" })).toBe("In the last week it would have been raised 2 times on 2 devices, 1 delivery. Not all devices were examined.");
});

it("moves a limit as far as values go", () => {
  expect(sliderOf([10, 20, undefined], 15)).toEqual({ min: 9, max: 21, step: 0.1 });
  expect(sliderOf([], 15)).toBeNull();
});
