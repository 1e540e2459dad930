import { expect, it } from "vitest";
import { fieldsOf } from "~/pages/connectors/schema-form";
import { bodyOf, differences, emptyForm, formOf, isComplete, newShift } from "./form";
import { contactWords, dayWords, shiftWords, usersOf } from "./words";

const required = ["timezone", "shifts", "fallback"];
const fields = fieldsOf(JSON.stringify({ properties: { timezone: { type: "string" }, shifts: { type: "array" }, fallback: { type: "string" }, subgroups: { type: "boolean", default: false } }, required }));
const PARAMS = { timezone: "Europe/Paris", fallback: "cpt_b", shifts: [{ contactPoint: "cpt_a", days: [5, 6], from: "20:00", to: "08:00" }, { contactPoint: "cpt_b" }] };

it("a rota made of a form is the one that the form was made of", () => {
  const form = formOf({ name: "On call", params: JSON.stringify(PARAMS) }, fields);
  expect(isComplete(form, "rota", fields)).toBeUndefined();
  expect(JSON.parse(bodyOf(form, "rota", fields).params)).toEqual(PARAMS);
  const other = formOf({ name: "On call", params: JSON.stringify({ ...PARAMS, fallback: "cpt_a" }) }, fields);
  expect(differences(form, other, fields)).toEqual([{ label: "While nobody is on call", mine: "cpt_b", theirs: "cpt_a" }]);
});

it("a rota says what is missing", () => {
  const form = { ...emptyForm("Europe/Paris"), name: "On call" };
  expect(isComplete(form, "rota", fields)).toBe("It needs a shift.");
  const shift = newShift("cpt_a");
  const withShift = (change: object) => ({ ...form, shifts: JSON.stringify([{ ...shift, ...change }]) });
  expect(isComplete(withShift({ contactPoint: "" }), "rota", fields)).toBe("A shift needs a contact point.");
  expect(isComplete(withShift({ days: [] }), "rota", fields)).toBe("A shift needs a day.");
  expect(isComplete(withShift({}), "rota", fields)).toBe("It needs a contact point for when nobody is on call.");
  expect(isComplete({ ...withShift({}), fallback: "cpt_a" }, "rota", fields)).toBeUndefined();
});

it.each([
  [[1, 2, 3, 4, 5], "Mon to Fri"],
  [[1, 2], "Mon, Tue"],
  [[7, 1, 3, 4, 5], "Mon, Wed to Fri, Sun"],
  [[1, 2, 3, 4, 5, 6, 7], "every day"],
])("the days %j", (days, words) => expect(dayWords(days)).toBe(words));

it("says when a shift is", () => {
  expect(shiftWords({ days: [1], from: "08:00", to: "20:00" })).toBe("Mon 08:00 to 20:00");
  expect(shiftWords({ days: [5, 6], from: "20:00", to: "08:00" })).toBe("Fri, Sat 20:00 to 08:00 on the next day");
  expect(shiftWords({ days: [6], from: "", to: "" })).toBe("Sat");
});

it("says whom it reaches, and what uses it", () => {
  const nameOf = (id: string) => ({ cpt_a: "Ada" })[id] ?? id;
  const rota = { id: "cpt_r", name: "On call", type: "rota", params: JSON.stringify(PARAMS) };
  expect(contactWords(rota, nameOf)).toBe("Ada, cpt_b");
  expect(contactWords({ type: "webhook" }, nameOf)).toBe("shared by a group above");
  const door = { id: "ntf_1", name: "Door", params: '{"contactPoints":["cpt_a"]}' };
  const late = { id: "ntf_2", name: "Late", params: '{"escalateTo":"cpt_r"}' };
  expect(usersOf("cpt_a", [door, late], [rota]).map((each) => each.name)).toEqual(["Door", "On call"]);
  expect(usersOf("cpt_r", [door, late], [rota])).toEqual([{ kind: "notification", id: "ntf_2", name: "Late" }]);
});
