import { expect, test } from "vitest";
import { bodyOf, differences, emptyForm, formOf } from "./form";
import { fieldsOf } from "./schema-form";

const FIELDS = fieldsOf('{"properties":{"url":{"type":"string"},"subgroups":{"type":"boolean","default":false}},"required":["url"]}');
const CONNECTOR = {
  groupId: "1",
  id: "con_1",
  type: "http",
  name: "To the cellar",
  params: '{"url":"https://a.example","subgroups":true}',
  createdAt: "",
  updatedAt: "",
  createdBy: "",
  updatedBy: "",
  messageFilter: "message.data.celsius > 8",
  deviceTypes: ["meter", "tracker"],
  dataFailurePolicy: { storingDuration: 604_800 },
  retryPolicy: { retryDelay: 60, maxRetry: 4 },
};

test("a connector survives its form", () => {
  const body = bodyOf(formOf(CONNECTOR, FIELDS), FIELDS);
  expect(body).toMatchObject({
    name: "To the cellar",
    deviceTypes: ["meter", "tracker"],
    deviceIds: [],
    messageFilter: "message.data.celsius > 8",
    retry: { retryDelay: 60, maxRetry: 4 },
    dataFailurePolicy: { storingDuration: 604_800 },
  });
  expect(JSON.parse(body.params)).toEqual({ url: "https://a.example", subgroups: true });
});

test("without a policy of its own the service retries as it does", () => {
  expect(bodyOf(emptyForm("http"), FIELDS).retry).toBeNull();
});

test("two versions side by side: only what differs", () => {
  const base = formOf(CONNECTOR, FIELDS);
  const mine = { ...base, messageFilter: "message.data.celsius > 6" };
  const theirs = { ...base, name: "To the vault", values: { ...base.values, url: "https://b.example" } };
  expect(differences(mine, theirs, FIELDS)).toEqual([
    { label: "Name", mine: "To the cellar", theirs: "To the vault" },
    { label: "Filter", mine: "message.data.celsius > 6", theirs: "message.data.celsius > 8" },
    { label: "URL", mine: "https://a.example", theirs: "https://b.example" },
  ]);
});

test.each([
  [{ delays: [30, 300, 1_500] }, "30, 300, 1500", "", { delays: [30, 300, 1_500] }],
  [{ delays: [30] }, "30", "1", { retryDelay: 30, maxRetry: 1 }],
  [{ delays: [] }, "", "0", { retryDelay: 60, maxRetry: 0 }],
])("a list of delays %j survives the form", (retryPolicy, retryDelay, maxRetry, retry) => {
  const form = formOf({ ...CONNECTOR, retryPolicy }, FIELDS);
  expect(form).toMatchObject({ retryDelay, maxRetry });
  expect(bodyOf(form, FIELDS).retry).toEqual(retry);
});
