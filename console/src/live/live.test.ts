import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { isAffected } from "./changes";
import { EventParser } from "./events";
import { Feed, RING_MAX, isNewer } from "./feed";
import { Hub, STREAMS_MAX } from "./hub";
import { streamAddress, type Arrival, type FromHub } from "./protocol";
import { RATE_SECONDS, RateCounter } from "./rates";

const SECOND = 1_794_820_000_000;

function arrivals(first: number, last: number, kind: Arrival["kind"] = "data"): Arrival[] {
  return Array.from({ length: last - first + 1 }, (_, index) => ({
    id: `rec_${(first + index).toString(16)}`,
    arrivedAt: new Date(SECOND + index).toISOString(),
    kind,
    source: "api",
    record: { deviceId: "dev_1", timestamp: "", data: "{}" },
  }));
}

const numbers = (rows: readonly Arrival[]) => rows.map((each) => parseInt(each.id.slice(4), 16));

describe("EventParser", () => {
  it("puts events together from any chunks, and keeps the last id", () => {
    const parser = new EventParser();
    const text = 'event: hello\nid: rec_1\ndata: {"a":1}\n\n: heartbeat\nid: rec_2\n\nevent: records\ndata: [\ndata: 1]\n\nevent: rec';
    const found = [...text].flatMap((each) => parser.push(each));
    expect(found).toEqual([
      { name: "hello", data: '{"a":1}' },
      { name: "records", data: "[\n1]" },
    ]);
    expect(parser.lastId).toBe("rec_2");
    parser.restart();
    expect(parser.push("event: x\ndata: y\n\n")).toEqual([{ name: "x", data: "y" }]);
  });
});

describe("Feed", () => {
  it("shows the newest first, each once, also when they come out of order", () => {
    const feed = new Feed();
    expect(feed.add(arrivals(5, 7)).length).toBe(3);
    expect(feed.add([...arrivals(3, 4), ...arrivals(7, 8)]).length).toBe(3);
    expect(numbers(feed.snapshot().rows)).toEqual([8, 7, 6, 5, 4, 3]);
  });

  it("keeps the newest, and the ledger has what follows", () => {
    const feed = new Feed();
    feed.addOlder(null, arrivals(1, 2), true);
    feed.add(arrivals(3, RING_MAX + 10));
    const { rows, isComplete } = feed.snapshot();
    expect([rows.length, isComplete, feed.oldest]).toEqual([RING_MAX, false, "rec_b"]);
  });

  it("collects while it is held, and loses nothing when it goes on", () => {
    const feed = new Feed();
    feed.add(arrivals(1, 2));
    feed.hold(true);
    feed.add(arrivals(3, 5));
    expect([numbers(feed.snapshot().rows), feed.snapshot().waiting]).toEqual([[2, 1], 3]);
    feed.hold(false);
    expect([numbers(feed.snapshot().rows), feed.snapshot().waiting]).toEqual([[5, 4, 3, 2, 1], 0]);
  });

  it("shows the newest alone after more came than it can keep", () => {
    const feed = new Feed();
    feed.add(arrivals(1, 2));
    feed.hold(true);
    feed.add(arrivals(3, RING_MAX + 3));
    expect(feed.snapshot()).toMatchObject({ waiting: RING_MAX, hasOverflowed: true });
    feed.hold(false);
    expect([feed.oldest, feed.snapshot().rows.length, feed.snapshot().isComplete]).toEqual(["rec_4", RING_MAX, false]);
  });

  it("loses nothing of what it has when a gap is closed while it is held", () => {
    const feed = new Feed();
    feed.add([...arrivals(1, 2), ...arrivals(8, 9)]);
    feed.hold(true);
    feed.cut({ count: 0, from: "rec_2", to: "rec_5" });
    feed.add(arrivals(5, 9));
    expect(numbers(feed.snapshot().rows)).toEqual([9, 8, 2, 1]);
    feed.hold(false);
    expect(numbers(feed.snapshot().rows)).toEqual([9, 8, 7, 6, 5]);
    expect(feed.snapshot()).toMatchObject({ lost: 0, isComplete: false, waiting: 0 });
  });

  it("goes on below what waits while nothing is listed", () => {
    const feed = new Feed();
    feed.hold(true);
    feed.add(arrivals(5, 6));
    expect([feed.oldest, feed.newest]).toEqual(["rec_5", "rec_6"]);
    feed.addOlder("rec_5", arrivals(3, 4).reverse(), true);
    feed.hold(false);
    expect(numbers(feed.snapshot().rows)).toEqual([6, 5, 4, 3]);
  });

  it("ends where the stream left something out, and goes on in the ledger", () => {
    const feed = new Feed();
    feed.add(arrivals(1, 4));
    feed.addOlder("rec_1", [], true);
    feed.cut({ count: 7, from: "rec_4", to: "rec_c" });
    feed.add(arrivals(12, 13));
    expect(feed.snapshot()).toMatchObject({ lost: 7, isComplete: false });
    expect(feed.addOlder("rec_1", arrivals(1, 4), true)).toBeNull();
    expect(numbers(feed.snapshot().rows)).toEqual([13, 12]);
    feed.addOlder("rec_c", arrivals(10, 11).reverse(), false);
    expect(numbers(feed.snapshot().rows)).toEqual([13, 12, 11, 10]);
    feed.cut({ from: "rec_d", to: "rec_f" });
    expect(feed.snapshot().lost).toBeNull();
  });

  it("knows the order of ids", () => {
    expect([isNewer("rec_10", "rec_f"), isNewer("rec_f", "rec_10"), isNewer("rec_b", "rec_a")]).toEqual([true, false, true]);
  });
});

describe("RateCounter", () => {
  it("counts by second and kind; before it listened there is a gap", () => {
    const rates = new RateCounter(SECOND - 10_000);
    rates.add([...arrivals(1, 6), ...arrivals(7, 8, "event")]);
    const { counts, times, perSecond } = rates.read(SECOND + 1_500);
    expect(times[119]).toBe(SECOND);
    expect([counts.data[119], counts.event[119], counts.geoloc[119], counts.data[100]]).toEqual([6, 2, 0, null]);
    expect(perSecond).toBe(8 / 5);
  });

  it("counts what arrived before it listened, as far as that is known", () => {
    const rates = new RateCounter(SECOND + 5_000);
    const earlier = [...arrivals(1, 6), ...arrivals(7, 7).map((each) => ({ ...each, arrivedAt: new Date(SECOND + 2_000).toISOString() }))];
    rates.addEarlier(earlier, false);
    const part = rates.read(SECOND + 6_000);
    expect(part.counts.data.slice(-7)).toEqual([null, 6, 0, 1, 0, 0, 0]);
    expect(part.knownSeconds).toBe(5);
    rates.forgetUntil(earlier[6]!);
    const after = rates.read(SECOND + 6_000);
    expect([after.counts.data.slice(-7), after.knownSeconds]).toEqual([[null, null, null, null, 0, 0, 0], 3]);
    rates.addEarlier([], true);
    const all = rates.read(SECOND + 6_000);
    expect([all.counts.data[0], all.knownSeconds]).toEqual([0, RATE_SECONDS]);
  });
});

it("asks again for what has changed, and for lists of its kind", () => {
  const ids = new Set(["dev_1"]);
  const kinds = new Set(["devices"]);
  expect(isAffected(["device", "dev_1", "changes"], ids, kinds)).toBe(true);
  expect(isAffected(["device", "dev_2"], ids, kinds)).toBe(false);
  expect(isAffected(["devices", { q: "x" }], ids, kinds)).toBe(true);
  expect(isAffected(["connectors", "1"], ids, kinds)).toBe(false);
});

it("names a stream by all that it selects, in one order", () => {
  expect(streamAddress({ groupId: "1", kinds: ["geoloc", "data"], filter: "a > 1" })).toBe(
    "/live?groupId=1&subgroups=true&kinds=data&kinds=geoloc&filter=a+%3E+1",
  );
});

// A service whose streams are written to by the test.
class Service {
  readonly requests: { address: string; cursor: string | null; write: (text: string) => void; end: () => void; isAborted: () => boolean }[] = [];
  status = 200;

  readonly fetch = async (address: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    if (this.status === 0) throw new TypeError("no connection");
    if (this.status !== 200) return new Response('{"code":"refused","detail":"No."}', { status: this.status });
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
    const cursor = (init?.headers as Record<string, string>)["Last-Event-ID"] ?? null;
    const signal = init?.signal;
    signal?.addEventListener("abort", () => controller.error(new Error("aborted")));
    this.requests.push({
      address: String(address),
      cursor,
      write: (text) => controller.enqueue(new TextEncoder().encode(text)),
      end: () => controller.close(),
      isAborted: () => signal?.aborted ?? false,
    });
    return new Response(body);
  };
}

const HELLO = `event: hello\nid: rec_1\ndata: {"time":"${new Date(SECOND).toISOString()}","from":"rec_1"}\n\n`;

describe("Hub", () => {
  let service: Service;
  let hub: Hub;
  beforeEach(() => {
    vi.useFakeTimers();
    service = new Service();
    hub = new Hub({ fetch: service.fetch as typeof fetch, now: () => Date.now() });
  });
  afterEach(() => vi.useRealTimers());

  const tab = () => {
    const received: FromHub[] = [];
    const listener = { postMessage: (message: FromHub) => void received.push(message) };
    const states = () => received.flatMap((each) => (each.type === "state" ? [each.state.is] : []));
    return { received, listener, states };
  };
  const settle = () => vi.advanceTimersByTimeAsync(1);

  it("has one connection for all tabs, and records only for those that want them", async () => {
    const [one, two] = [tab(), tab()];
    hub.receive(one.listener, { type: "open", address: "/live?a", wantsRecords: true });
    hub.receive(two.listener, { type: "open", address: "/live?a", wantsRecords: false });
    await settle();
    expect(service.requests.length).toBe(1);
    service.requests[0]?.write(`${HELLO}event: records\nid: rec_2\ndata: []\n\nevent: changed\ndata: {"devices":["dev_1"]}\n\n`);
    await settle();
    expect(one.received.map((each) => each.type)).toEqual(["state", "state", "fresh", "records", "changed"]);
    expect(two.received.map((each) => each.type)).toEqual(["state", "state", "fresh", "changed"]);
  });

  it("goes on behind the last event after 1, 2, 5 and 10 seconds", async () => {
    const { listener, states } = tab();
    hub.receive(listener, { type: "open", address: "/live?a", wantsRecords: true });
    await settle();
    service.requests[0]?.write(`${HELLO}: heartbeat\nid: rec_9\n\n`);
    await settle();
    service.status = 0;
    service.requests[0]?.end();
    await settle();
    expect(states().at(-1)).toBe("reconnecting");
    await vi.advanceTimersByTimeAsync(1_000 + 2_000);
    service.status = 503;
    await vi.advanceTimersByTimeAsync(5_000);
    service.status = 200;
    await vi.advanceTimersByTimeAsync(9_000);
    expect(service.requests.length).toBe(1);
    await vi.advanceTimersByTimeAsync(1_100);
    expect(service.requests.map((each) => each.cursor)).toEqual([null, "rec_9"]);
    service.requests[1]?.write(HELLO);
    await settle();
    expect(states().at(-1)).toBe("live");
  });

  it("has begun for those who come while it is made again", async () => {
    const [one, two] = [tab(), tab()];
    hub.receive(one.listener, { type: "open", address: "/live?a", wantsRecords: true });
    await settle();
    service.requests[0]?.write(HELLO);
    await settle();
    service.status = 0;
    service.requests[0]?.end();
    await settle();
    hub.receive(two.listener, { type: "open", address: "/live?a", wantsRecords: true });
    expect(two.received.map((each) => each.type)).toEqual(["state", "fresh"]);
  });

  it("takes a silent connection for a dead one", async () => {
    const { listener } = tab();
    hub.receive(listener, { type: "open", address: "/live?a", wantsRecords: true });
    await settle();
    service.requests[0]?.write(HELLO);
    await vi.advanceTimersByTimeAsync(42_000);
    expect(service.requests.length).toBe(2);
  });

  it("does not ask again for what was refused, before a retry", async () => {
    const { listener, received, states } = tab();
    service.status = 401;
    hub.receive(listener, { type: "open", address: "/live?a", wantsRecords: true });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(states()).toEqual(["connecting", "refused"]);
    expect(received.at(-1)).toMatchObject({ state: { refusal: { status: 401, detail: "No." } } });
    service.status = 200;
    hub.receive(listener, { type: "retry" });
    await settle();
    expect(service.requests.length).toBe(1);
  });

  it("gives the few connections to those who look", async () => {
    const tabs = Array.from({ length: STREAMS_MAX + 2 }, tab);
    for (const [index, each] of tabs.entries()) {
      hub.receive(each.listener, { type: "open", address: `/live?${index}`, wantsRecords: true });
      await settle();
      service.requests.at(-1)?.write(HELLO.replace("rec_1", `rec_${index}`));
      await settle();
      hub.receive(each.listener, { type: "visible", isVisible: false });
    }
    expect(hub.openCount).toBe(STREAMS_MAX);
    expect(service.requests[0]?.isAborted()).toBe(true);
    hub.receive(tabs[0]!.listener, { type: "visible", isVisible: true });
    await settle();
    expect(hub.openCount).toBe(STREAMS_MAX);
    expect(service.requests.at(-1)).toMatchObject({ address: "/live?0", cursor: "rec_0" });
  });

  it("closes a connection some seconds after the last tab has left", async () => {
    const { listener } = tab();
    hub.receive(listener, { type: "open", address: "/live?a", wantsRecords: true });
    await settle();
    hub.leave(listener);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(hub.openCount).toBe(1);
    await vi.advanceTimersByTimeAsync(1_100);
    expect(hub.openCount).toBe(0);
    expect(service.requests[0]?.isAborted()).toBe(true);
  });
});
