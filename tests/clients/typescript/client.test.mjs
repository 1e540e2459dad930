// The TypeScript client, compiled, against a service; the test in Python beside this file starts it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const { BUILT, URL_OF_SERVICE: url, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret } = process.env;
const { BadInput, Client, NotAuthenticated, NotFound, Webhook, WebhookRefused } = await import(pathToFileURL(`${BUILT}/index.js`).href);
const retries = { firstDelayS: 0.001, delayMaxS: 0.01 };
const client = new Client(url, { clientId, clientSecret, retries });

const group = await client.groups.create("Harbour", { tags: ["north"] });
const device = await client.devices.create(group.id, { name: "Crane", type: "generic", originalId: "1FD48BE", network: "mqtt" });
const reading = (second, fields = {}) => ({
  deviceId: device.deviceId,
  timestamp: new Date(Date.UTC(2026, 2, 1, 12, 0, second)),
  data: `{"second":${second}}`,
  configuration: "",
  __raw: "",
  deviceType: "generic",
  ...fields,
});

test("objects are created, read and changed", async () => {
  assert.equal((await client.groups.get(group.id)).name, "Harbour");
  const changed = await client.devices.update(device.deviceId, { groupId: group.id, name: "Crane 2" });
  assert.equal(changed.name, "Crane 2");
  assert.equal((await client.devices.get(device.deviceId)).name, "Crane 2");
  const app = await client.appClients.create(group.id, { name: "reader" });
  await client.appClients.delete(app.appClientId, { groupId: group.id });
  assert.deepEqual(await client.appClients.list(group.id).all(), []);
});

test("a list is iterated over its pages", async () => {
  await client.data.storeMany([0, 1, 2, 3, 4].map((second) => reading(second)));
  const found = [];
  for await (const record of client.devices.data(device.deviceId, { limit: 2, beginDate: new Date(Date.UTC(2026, 2, 1)) })) found.push(record.data);
  assert.deepEqual(found, [0, 1, 2, 3, 4].map((second) => `{"second":${second}}`));
});

test("errors are typed and carry the faults", async () => {
  await assert.rejects(client.devices.get("dev_unknown"), NotFound);
  const error = await client.data.store(device.deviceId, { ...reading(0), timestamp: "soon" }).catch((each) => each);
  assert.ok(error instanceof BadInput);
  assert.deepEqual(error.faults.map((each) => [each.in, each.field]), [["body", "timestamp"]]);
  assert.ok(error.requestId);
  const stranger = new Client(url, { clientId, clientSecret: "wrong", retries });
  await assert.rejects(stranger.users.me(), NotAuthenticated);
});

test("what is no URL is refused at once", () => {
  for (const url of ["localhost:8080", "ftp://example.com", ""]) assert.throws(() => new Client(url, { token: "x" }), /begins with http/);
});

test("a response that is lost is asked for again, if that is harmless", async () => {
  let lost = 0;
  const losing = async (address, init) => {
    const response = await fetch(address, init);
    if (String(address).includes("/oauth2/") || lost > 0) return response;
    lost += 1;
    throw new TypeError("the connection broke");
  };
  const careful = new Client(url, { clientId, clientSecret, retries, fetch: losing });
  const { deviceId, ...rest } = reading(50);
  assert.equal((await careful.data.store(deviceId, rest)).data, '{"second":50}');
  assert.equal(lost, 1);
  lost = 0;
  await assert.rejects(careful.groups.create("twice"), { name: "ResponseLost", mayHaveHappened: true });
});

test("a token that was revoked is renewed", async () => {
  const seen = [];
  const watching = (address, init) => {
    seen.push(init.headers.Authorization);
    return fetch(address, init);
  };
  const renewing = new Client(url, { clientId, clientSecret, retries, fetch: watching });
  await renewing.users.me();
  const [basic, bearer] = seen;
  const form = new URLSearchParams({ token: bearer.slice("Bearer ".length) });
  const revoked = await fetch(`${url}/oauth2/revoke`, { method: "POST", headers: { Authorization: basic }, body: form });
  assert.equal(revoked.status, 200);
  await renewing.users.me();
  assert.notEqual(seen.at(-1), bearer);
});

test("the writer batches, waits for room, and keeps apart what is refused", async () => {
  const rejected = [];
  const writer = client.writer({ batchRecords: 10, queueRecords: 20, lingerS: 0.01, onRejected: (kind, record, error) => rejected.push([kind, record.timestamp, error.faults[0].field]) });
  const receipts = [];
  for (let second = 10; second < 45; second++) {
    receipts.push(await writer.write("data", reading(second, second === 17 ? { timestamp: "soon" } : {})));
    assert.ok(writer.waiting <= 20);
  }
  await writer.close();
  assert.deepEqual(rejected, [["data", "soon", "timestamp"]]);
  const results = await Promise.allSettled(receipts.map((each) => each.stored));
  assert.equal(results.filter((each) => each.status === "rejected").length, 1);
  const stored = await client.devices.data(device.deviceId).all();
  assert.equal(stored.filter((each) => JSON.parse(each.data).second >= 10 && JSON.parse(each.data).second < 45).length, 34);
});

test("the live stream goes on after it broke off", async () => {
  const seen = [];
  let streams = 0;
  let breakOff;
  const breaking = async (address, init) => {
    if (!String(address).includes("/live")) return fetch(address, init);
    streams += 1;
    const stop = new AbortController();
    breakOff = () => stop.abort();
    return fetch(address, { ...init, signal: stop.signal });
  };
  const following = new Client(url, { clientId, clientSecret, retries, fetch: breaking });
  const live = following.live(group.id, { kinds: ["event"] });
  const event = (type) => client.events.store(device.deviceId, { timestamp: new Date(), type });
  for await (const { type, data } of live) {
    if (type === "hello" && seen.length === 0) await event("first");
    if (type !== "records") continue;
    seen.push(...data.map((each) => each.record.type));
    if (seen.length === 2) break;
    breakOff();
    await event("second");
  }
  assert.deepEqual(seen, ["first", "second"]);
  assert.equal(streams, 2);
  assert.ok(live.lastId);
});

test("webhooks are verified with any of the secrets", async () => {
  const [old, current] = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"];
  const headers = await new Webhook(old).sign("msg_1", '{"a":1}');
  assert.equal(await new Webhook([current, old]).verify('{"a":1}', new Headers(headers)), "msg_1");
  const refusal = (code) => (error) => error instanceof WebhookRefused && error.code === code;
  await assert.rejects(new Webhook(current).verify('{"a":1}', headers), refusal("bad_signature"));
  await assert.rejects(new Webhook(old).verify('{"a":2}', headers), refusal("bad_signature"));
  await assert.rejects(new Webhook(old).verify('{"a":1}', headers, { now: new Date(Date.now() + 600_000) }), refusal("too_old"));
  await assert.rejects(new Webhook(old).verify('{"a":1}', {}), refusal("missing_header"));
  // The example of the specification, as its libraries test it.
  const given = { "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330", "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" };
  assert.equal(await new Webhook(old).verify('{"test": 2432232314}', given, { now: new Date(1_614_265_330_000) }), given["webhook-id"]);
});
