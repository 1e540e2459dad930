// Streams of the service for any number of listeners: one connection for each address, whoever
// listens to it. Browsers allow six connections to a host, so not every address can have one: those
// that nobody looks at wait, and go on behind their last event when somebody does.
import { EventParser, type ServerEvent } from "./events";
import type { FromHub, Refusal, StreamState, ToHub } from "./protocol";
import { t } from "~/messages/live";

export const BACKOFF_MS: readonly number[] = [1_000, 2_000, 5_000, 10_000];
export const STREAMS_MAX = 3;
// The service sends a comment every 15 s; without one, the connection is dead.
const SILENCE_MS = 40_000;
// A tab that is reloaded finds its stream again.
const LINGER_MS = 5_000;

export interface Listener {
  postMessage(message: FromHub): void;
}

interface Member {
  readonly listener: Listener;
  // Addresses, and whether their records are wanted.
  readonly wants: Map<string, boolean>;
  isVisible: boolean;
}

export interface HubTools {
  readonly fetch: typeof fetch;
  readonly now: () => number;
}

class Stream {
  readonly address: string;
  private readonly hub: Hub;
  private readonly tools: HubTools;
  state: StreamState = { is: "connecting" };
  lookedAt = 0;
  private readonly parser = new EventParser();
  private attempt = 0;
  private aborting: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;

  constructor(address: string, hub: Hub, tools: HubTools) {
    this.address = address;
    this.hub = hub;
    this.tools = tools;
  }

  get isOpen(): boolean {
    return this.aborting !== null || this.timer !== undefined;
  }

  open(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.aborting === null) void this.run();
  }

  close(): void {
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    this.timer = undefined;
    this.aborting?.abort();
    this.aborting = null;
  }

  // A refused stream is asked for again, and one that waits does not wait any longer.
  retry(): void {
    this.attempt = 0;
    if (this.state.is === "refused" || this.timer !== undefined) this.open();
  }

  private async run(): Promise<void> {
    const aborting = new AbortController();
    this.aborting = aborting;
    try {
      await this.follow(aborting);
    } catch {
      // Whatever broke the connection, it is made again.
    }
    if (this.aborting !== aborting) return;
    this.aborting = null;
    clearTimeout(this.silence);
    if (this.state.is !== "refused") this.wait();
  }

  private wait(): void {
    const since = this.state.is === "reconnecting" ? this.state.since : this.tools.now();
    this.setState({ is: "reconnecting", since });
    const pause = BACKOFF_MS[Math.min(this.attempt, BACKOFF_MS.length - 1)] ?? 10_000;
    this.attempt += 1;
    this.timer = setTimeout(() => this.open(), pause);
  }

  private async follow(aborting: AbortController): Promise<void> {
    this.parser.restart();
    const cursor = this.parser.lastId;
    const headers: Record<string, string> = { Accept: "text/event-stream", "X-Longwire-Console": "1" };
    if (cursor !== null) headers["Last-Event-ID"] = cursor;
    this.listenFor(aborting);
    const response = await this.tools.fetch(this.address, { headers, signal: aborting.signal, credentials: "same-origin", cache: "no-store" });
    if (!response.ok || !response.body) {
      await this.refused(response);
      return;
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || aborting.signal.aborted) return;
      this.listenFor(aborting);
      for (const event of this.parser.push(value)) this.handle(event, cursor === null);
    }
  }

  private listenFor(aborting: AbortController): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => aborting.abort(), SILENCE_MS);
  }

  private async refused(response: Response): Promise<void> {
    if (response.status >= 500 || response.status === 429) return;
    let body: Partial<Refusal> & { errors?: readonly { message: string }[] } = {};
    try {
      body = (await response.json()) as typeof body;
    } catch {
      // A proxy in between may answer with a page of its own.
    }
    const detail = body.errors?.[0]?.message ?? body.detail ?? t("statusStatus", { status: response.status });
    this.setState({ is: "refused", refusal: { status: response.status, code: body.code ?? "unexpected_response", detail } });
  }

  private handle(event: ServerEvent, isFresh: boolean): void {
    if (event.name === "records") {
      const wanting = this.hub.listeners(this.address, true);
      if (wanting.length === 0) return;
      const items = JSON.parse(event.data) as Extract<FromHub, { type: "records" }>["items"];
      for (const each of wanting) each.postMessage({ type: "records", address: this.address, items });
      return;
    }
    const data: unknown = JSON.parse(event.data);
    if (event.name === "hello") {
      this.attempt = 0;
      const aheadMs = Date.parse((data as { time: string }).time) - this.tools.now();
      this.setState({ is: "live", aheadMs });
      if (isFresh) this.hub.publish(this.address, { type: "fresh", address: this.address });
    } else if (event.name === "lost") {
      this.hub.publish(this.address, { type: "lost", address: this.address, lost: data as never });
    } else if (event.name === "changed") {
      this.hub.publish(this.address, { type: "changed", address: this.address, changed: data as never });
    } else if (event.name === "deliveries") {
      this.hub.publish(this.address, { type: "deliveries", address: this.address, deliveries: data as never });
    } else if (event.name === "expired") {
      const { code, detail } = data as { code: string; detail: string };
      const status = { not_authenticated: 401, not_allowed: 403, not_found: 404 }[code];
      if (status !== undefined) this.setState({ is: "refused", refusal: { status, code, detail } });
    }
  }

  private setState(state: StreamState): void {
    this.state = state;
    this.hub.publish(this.address, { type: "state", address: this.address, state });
  }
}

export class Hub {
  private readonly members = new Map<Listener, Member>();
  private readonly streams = new Map<string, Stream>();
  private readonly lingering = new Map<string, ReturnType<typeof setTimeout>>();

  private readonly tools: HubTools;

  constructor(tools: HubTools) {
    this.tools = tools;
  }

  receive(listener: Listener, message: ToHub): void {
    const member = this.memberFor(listener);
    if (message.type === "open") this.subscribe(member, message.address, message.wantsRecords);
    else if (message.type === "close") this.unsubscribe(member, message.address);
    else if (message.type === "visible") this.show(member, message.isVisible);
    else if (message.type === "retry") for (const address of member.wants.keys()) this.streams.get(address)?.retry();
    else if (message.type === "leave") this.leave(listener);
  }

  leave(listener: Listener): void {
    const member = this.members.get(listener);
    this.members.delete(listener);
    for (const address of member?.wants.keys() ?? []) this.release(address);
  }

  publish(address: string, message: FromHub): void {
    for (const listener of this.listeners(address, false)) listener.postMessage(message);
  }

  listeners(address: string, wantsRecords: boolean): Listener[] {
    const found: Listener[] = [];
    for (const { listener, wants } of this.members.values()) {
      const wanted = wants.get(address);
      if (wanted !== undefined && (wanted || !wantsRecords)) found.push(listener);
    }
    return found;
  }

  get openCount(): number {
    return [...this.streams.values()].filter((each) => each.isOpen).length;
  }

  private memberFor(listener: Listener): Member {
    const known = this.members.get(listener);
    if (known) return known;
    const made: Member = { listener, wants: new Map(), isVisible: true };
    this.members.set(listener, made);
    return made;
  }

  private subscribe(member: Member, address: string, wantsRecords: boolean): void {
    clearTimeout(this.lingering.get(address));
    this.lingering.delete(address);
    member.wants.set(address, wantsRecords);
    const stream = this.streams.get(address) ?? new Stream(address, this, this.tools);
    this.streams.set(address, stream);
    stream.lookedAt = this.tools.now();
    member.listener.postMessage({ type: "state", address, state: stream.state });
    // For those who come later the stream has begun as well: what is stored from now on is sent, also
    // after a connection that broke is made again.
    if (stream.state.is === "live" || stream.state.is === "reconnecting") member.listener.postMessage({ type: "fresh", address });
    if (stream.state.is === "refused") stream.retry();
    this.share();
  }

  private unsubscribe(member: Member, address: string): void {
    if (member.wants.delete(address)) this.release(address);
  }

  private release(address: string): void {
    if (this.listeners(address, false).length > 0) return;
    clearTimeout(this.lingering.get(address));
    this.lingering.set(
      address,
      setTimeout(() => {
        this.lingering.delete(address);
        this.streams.get(address)?.close();
        this.streams.delete(address);
        this.share();
      }, LINGER_MS),
    );
    this.share();
  }

  private show(member: Member, isVisible: boolean): void {
    member.isVisible = isVisible;
    if (isVisible) for (const address of member.wants.keys()) this.look(address);
    this.share();
  }

  private look(address: string): void {
    const stream = this.streams.get(address);
    if (stream) stream.lookedAt = this.tools.now();
  }

  // Connections go to those that are looked at, then to those that were looked at last; an address
  // that nobody wants any more gives its own up first.
  private share(): void {
    const rank = (stream: Stream): number => {
      const members = [...this.members.values()].filter((each) => each.wants.has(stream.address));
      if (members.length === 0) return 0;
      return members.some((each) => each.isVisible) ? 2 : 1;
    };
    const sorted = [...this.streams.values()].sort((a, b) => rank(b) - rank(a) || b.lookedAt - a.lookedAt);
    sorted.slice(STREAMS_MAX).forEach((each) => each.close());
    for (const each of sorted.slice(0, STREAMS_MAX)) if (!each.isOpen && each.state.is !== "refused") each.open();
  }
}
