import { expect, test } from "vitest";
import { ACTIONS } from "./actions";
import { changedSince, isPlan, undoOf, type AuditEntry, type UndoPlan } from "./undo";

function entry(action: string, before?: object, after?: object, more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: "1",
    timestamp: "2026-11-16T06:00:00.000Z",
    actorKind: "user",
    actorId: "usr_1",
    action,
    objectId: "x",
    groupId: "g",
    requestId: "r",
    ...(before ? { before } : {}),
    ...(after ? { after } : {}),
    ...more,
  } as AuditEntry;
}

test.each<[string, object, object, [string, object][]]>([
  ["group.updateRetention", { retentionDays: {} }, { retentionDays: { data: 30 } }, [["PUT /group/retention", { groupId: "x", retentionDays: {} }]]],
  ["device.update", { name: "a", tags: [] }, { name: "b", tags: ["t"] }, [["PUT /device", { deviceId: "x", groupId: "g", name: "a", tags: [] }]]],
  [
    "device.update",
    { type: "meter", configuration: "{}" },
    { type: "button", configuration: '{"a":1}' },
    [
      ["PUT /device/type", { deviceId: "x", groupId: "g", type: "meter" }],
      ["PUT /device", { deviceId: "x", groupId: "g", configuration: "{}" }],
    ],
  ],
  [
    "device.replaceHardware",
    { originalId: "1F", network: "vendor" },
    { originalId: "2F", network: "mqtt" },
    [["PUT /device", { deviceId: "x", groupId: "g", originalId: "1F", network: "vendor" }]],
  ],
  ["device.transfer", { groupId: "g" }, { groupId: "h" }, [["PUT /device/transfer", { deviceId: "x", groupId: "h", toGroupId: "g" }]]],
  [
    "connector.update",
    { messageFilter: null, params: '{"url":"a"}', retryPolicy: { retryDelay: 30, maxRetry: 3 }, dataFailurePolicy: { storingDuration: 60 } },
    { messageFilter: "x > 8", params: '{"url":"b"}', retryPolicy: null, dataFailurePolicy: { storingDuration: 90 } },
    [
      [
        "PUT /connector",
        {
          connectorId: "x",
          groupId: "g",
          messageFilter: null,
          params: '{"url":"a"}',
          retryPolicy: { retryDelay: 30, maxRetry: 3 },
          dataFailurePolicy: { storingDuration: 60 },
        },
      ],
    ],
  ],
  ["connector.update", { name: null, retryPolicy: null }, { name: "a", retryPolicy: { retryDelay: 60, maxRetry: 3 } }, [["PUT /connector", { connectorId: "x", groupId: "g", name: null, retryPolicy: null }]]],
  [
    "notification.update",
    { enabled: true, deviceId: null, schedule: null },
    { enabled: false, deviceId: "dev_1", schedule: '{"days":[1]}' },
    [["PUT /notification", { notificationId: "x", groupId: "g", enabled: true, deviceId: null, schedule: null }]],
  ],
  ["contactPoint.update", { name: "a", type: "push" }, { name: "b", type: "email" }, [["PUT /contactPoint", { contactPointId: "x", groupId: "g", name: "a", type: "push" }]]],
  ["group.update", { name: "a", parent: null }, { name: "b", parent: "p" }, [["PUT /group", { groupId: "x", name: "a", parent: null }]]],
  ["group.updateConfiguration", { policy: {} }, { policy: { a: 1 } }, [["PUT /group/configuration", { groupId: "x", policy: {} }]]],
  ["role.update", { permissions: ["a.b"] }, { permissions: ["a.b", "c.d"] }, [["PUT /role", { roleId: "x", groupId: "g", permissions: ["a.b"] }]]],
  ["member.update", { roleId: "viewer" }, { roleId: "manager" }, [["PUT /group/user", { userId: "x", groupId: "g", roleId: "viewer" }]]],
  ["appClient.update", { name: "a" }, { name: "b" }, [["PUT /appClient", { groupId: "g", name: "b", newName: "a" }]]],
  [
    "appClient.update",
    { name: "a", roleId: "" },
    { name: "b", roleId: "viewer" },
    [["PUT /appClient", { groupId: "g", name: "b", newName: "a", roleId: "" }]],
  ],
])("%s from %j to %j", (action, before, after, steps) => {
  const plan = undoOf(entry(action, before, after)) as UndoPlan;
  expect(plan.steps.map((each) => [each.operation, each.body])).toEqual(steps);
  expect(plan.expected).toEqual(after);
});

test("a group that is about to be deleted is restored", () => {
  expect((undoOf(entry("group.scheduleDeletion")) as UndoPlan).steps).toEqual([{ operation: "POST /group/restore", body: { groupId: "x" }, isVersioned: false }]);
});

test("whatever else is in the log says why it cannot be undone", () => {
  const undone = new Set(["device.update", "device.replaceHardware", "device.transfer", "connector.update", "notification.update", "contactPoint.update", "group.update", "group.updateConfiguration"]);
  for (const each of ["role.update", "member.update", "appClient.update", "group.scheduleDeletion"]) undone.add(each);
  for (const action of Object.keys(ACTIONS).filter((each) => !undone.has(each))) {
    const answer = undoOf(entry(action, { name: "a" }));
    expect(isPlan(answer) ? "" : answer.reason, action).toMatch(/\.$/);
  }
});

test.each<[string, AuditEntry, RegExp]>([
  ["no fields", entry("device.update"), /nothing that is kept/],
  ["a secret", entry("connector.update", { params: '{"secret":"***"}' }, { params: '{ "secret": "***" }' }), /Only a secret/],
  ["another URL", entry("connector.update", { params: '{"url":"https://a.example/********"}' }, { params: '{"url":"https://b.example/********"}' }), /only the host/],
  ["large fields", entry("device.update", {}, {}, { omittedFields: ["configuration"] }), /configuration/],
])("%s cannot be set back", (_name, given, reason) => {
  expect((undoOf(given) as { reason: string }).reason).toMatch(reason);
});

test("what somebody changed since is named, other fields do not matter", () => {
  const plan = undoOf(entry("device.update", { name: "a", tags: ["t"] }, { name: "b", tags: [] })) as UndoPlan;
  expect(changedSince(plan, { name: "b", tags: null, type: "x" })).toEqual([]);
  expect(changedSince(plan, { name: "c", tags: [] })).toEqual(["name"]);
});

test("what the log has masked is no change", () => {
  const params = (url: string, secret: string, batch: number) => JSON.stringify({ url, secret, batch });
  const masked = (host: string, batch: number) => params(`https://${host}/********`, "********", batch);
  const plan = undoOf(entry("connector.update", { params: masked("a", 1) }, { params: masked("a", 2) })) as UndoPlan;
  expect(plan.steps[0]?.body["params"]).toBe(masked("a", 1));
  expect(changedSince(plan, { params: params("https://a/hook", "whsec_x", 2) })).toEqual([]);
  expect(changedSince(plan, { params: params("https://b/hook", "whsec_x", 2) })).toEqual(["params"]);
  expect(changedSince(plan, { params: params("https://a/hook", "whsec_x", 3) })).toEqual(["params"]);
});
