// Follows what arrives, also across interruptions.
import { ApiError, LongwireError, NotAllowed, NotFound } from "./errors.js";
import type * as m from "./models.js";
import { sleep, type Call, type Transport } from "./transport.js";

export type LiveEvent =
  | { type: "hello"; data: m.LiveHello }
  | { type: "records"; data: m.Arrival[] }
  | { type: "changed"; data: m.LiveChanged }
  | { type: "deliveries"; data: m.LiveDeliveries[] }
  | { type: "alarms"; data: m.LiveAlarm[] }
  | { type: "lost"; data: m.LiveLost };

const KNOWN = new Set(["hello", "records", "changed", "deliveries", "alarms", "lost", "expired"]);
// Why the service ends a stream although the caller could open it again.
const REOPENED = new Set(["stopping", "not_authenticated", "unavailable"]);
// The service says something every 15 seconds.
const SILENCE_MAX_S = 45;

/**
 * A stream of events, which is opened again whenever it breaks off. What arrived meanwhile is sent
 * then; if that was too much, there is a `lost`. `lastId` is where the stream is: give it to
 * `live()` to go on there in another process.
 */
export class Live implements AsyncIterable<LiveEvent> {
  lastId: string | undefined;

  constructor(
    private readonly transport: Transport,
    private readonly call: Call,
    lastId?: string,
  ) {
    this.lastId = lastId;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<LiveEvent, void, void> {
    let failures = 0;
    for (;;) {
      try {
        for await (const event of this.#events()) {
          failures = 0;
          yield event;
        }
      } catch (error) {
        if (!(error instanceof LongwireError) || !error.isTemporary) throw error;
        failures += 1;
        const asked = error instanceof ApiError ? (error.retryAfterS ?? 0) : 0;
        await sleep(Math.max(asked, this.transport.backOff(failures)));
      }
    }
  }

  /** The events of one connection, until the service ends it. */
  async *#events(): AsyncGenerator<LiveEvent, void, void> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.lastId !== undefined) headers["Last-Event-ID"] = this.lastId;
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE_MAX_S * 1_000);
    try {
      const decoder = new TextDecoder();
      let rest = "";
      for await (const chunk of this.transport.stream(this.call, headers, silence.signal)) {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE_MAX_S * 1_000);
        const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          const event = this.#parse(block);
          if (event?.type === "expired") {
            checkEnd(event.data as m.LiveExpired);
            return;
          }
          if (event) yield event as LiveEvent;
        }
      }
    } finally {
      clearTimeout(timer);
    }
  }

  #parse(block: string): { type: string; data: unknown } | null {
    let type = "";
    let data = "";
    for (const line of block.split("\n")) {
      const [, name = "", value = ""] = /^([^:]*): ?(.*)$/.exec(line) ?? [];
      if (name === "id") this.lastId = value;
      else if (name === "event") type = value;
      else if (name === "data") data += value;
    }
    return KNOWN.has(type) ? { type, data: JSON.parse(data) as unknown } : null;
  }
}

function checkEnd({ code, detail }: m.LiveExpired): void {
  if (REOPENED.has(code)) return;
  const given = { code, detail, faults: [], requestId: "", retryAfterS: null };
  if (code === "not_allowed") throw new NotAllowed({ ...given, status: 403 });
  if (code === "not_found") throw new NotFound({ ...given, status: 404 });
  throw new ApiError({ ...given, status: 0 });
}
