import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { api, read, reportSignedOut } from "~/api/client";
import { Invalidator } from "./changes";
import { listen } from "./connection";
import { Feed, RING_MAX, isNewer, type FeedView } from "./feed";
import { RateCounter, type Rates } from "./rates";
import { streamAddress, type LiveSelection, type StreamState } from "./protocol";

// How the stream of a group is. What others change is asked for again meanwhile.
export function useLiveState(groupId: string | null): StreamState | null {
  const client = useQueryClient();
  const [state, setState] = useState<StreamState | null>(null);
  useEffect(() => {
    if (groupId === null) return;
    const invalidator = new Invalidator(client);
    const stop = listen({ groupId }, false, (event) => {
      if (event.type === "changed") invalidator.changed(event.changed);
      else if (event.type === "deliveries") invalidator.delivered(event.deliveries);
      else if (event.type === "state") {
        setState(event.state);
        if (event.state.is === "refused" && event.state.refusal.status === 401) reportSignedOut();
      }
    });
    return () => {
      stop();
      invalidator.stop();
      setState(null);
    };
  }, [groupId, client]);
  return state;
}

const PAGE_ITEMS = 200;
// Without a stream the ledger is shown alone.
const STREAM_PATIENCE_MS = 2_000;
const ARRIVALS_MS = 180;

export interface DeviceSummary {
  readonly deviceId: string;
  readonly count: number;
  readonly last: FeedView["rows"][number];
}

// Newest first.
interface Page {
  readonly items: FeedView["rows"];
  readonly isLast: boolean;
}

// Feed and ledger of one selection. It lives outside of React: records come a hundred at a time, and
// the page gets one update for each frame of the screen.
export class LiveSource {
  readonly feed = new Feed();
  readonly devices = new Map<string, DeviceSummary>();
  rates: RateCounter;
  state: StreamState = { is: "connecting" };
  error: unknown = null;
  isLoading = false;
  aheadMs = 0;
  version = 0;
  private readonly listeners = new Set<() => void>();
  private frame: number | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private publishedAt = 0;
  private loading: AbortController | null = null;
  private hasBegun = false;
  // The newest record of a list that was read before its stream began: what was stored in between is
  // in the ledger alone.
  private gapAfter: string | null = null;
  private catchingUp: AbortController | null = null;
  // The chart shows the two minutes before as well, as far as the first page reaches.
  private hasCountedEarlier = false;

  readonly selection: LiveSelection;
  // A date: what arrived before it, from the ledger alone.
  readonly until: string | null;

  constructor(selection: LiveSelection, until: string | null) {
    this.selection = selection;
    this.until = until;
    this.rates = new RateCounter(Date.now());
  }

  start(): () => void {
    if (this.until !== null) {
      this.begin();
      return () => this.stop();
    }
    const stop = listen(this.selection, true, (event) => {
      if (event.type === "records") this.arrived(event.items);
      else if (event.type === "fresh") this.follow();
      else if (event.type === "lost") {
        this.forgetGap();
        this.feed.cut(event.lost);
        this.fill();
        this.publish();
      } else if (event.type === "state") {
        this.state = event.state;
        if (event.state.is === "live") {
          this.aheadMs = event.state.aheadMs;
          if (this.error !== null) void this.loadOlder();
        }
        if (event.state.is === "refused") this.begin();
        this.publish();
      }
    });
    const timer = setTimeout(() => this.begin(), STREAM_PATIENCE_MS);
    return () => {
      stop();
      clearTimeout(timer);
      this.stop();
    };
  }

  private stop(): void {
    this.stopLoading();
    this.stopCatchingUp();
    this.hasBegun = this.feed.oldest !== null;
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    this.frame = null;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  hold(isHeld: boolean): void {
    this.feed.hold(isHeld);
    if (!isHeld) this.fill();
    this.publish();
  }

  release(): void {
    this.feed.release();
    this.fill();
    this.publish();
  }

  // The next page of the ledger, unless one is on its way or there is none.
  async loadOlder(): Promise<void> {
    void this.catchUp();
    if (this.loading !== null || this.feed.snapshot().isComplete) return;
    const aborting = new AbortController();
    this.loading = aborting;
    this.isLoading = true;
    this.publish();
    const before = this.feed.oldest;
    try {
      this.addOlder(before, await this.readPage(before, aborting.signal));
      if (this.gapAfter === null) this.error = null;
    } catch (error) {
      if (aborting.signal.aborted) return;
      this.error = error;
    }
    this.loading = null;
    this.isLoading = false;
    this.publish();
    if (this.error === null) this.fill();
  }

  // Reads what the list lacks between itself and the stream, unless nothing is or it is on its way.
  private async catchUp(): Promise<void> {
    if (this.gapAfter === null || this.catchingUp !== null) return;
    const aborting = new AbortController();
    this.catchingUp = aborting;
    try {
      this.closeGap(this.gapAfter, await this.readPage(null, aborting.signal));
      this.gapAfter = null;
      this.error = null;
    } catch (error) {
      if (aborting.signal.aborted) return;
      this.error = error;
    }
    this.catchingUp = null;
    this.publish();
    if (this.error === null) this.fill();
  }

  // A page with filters may be short, or empty, although there are more: it goes on until it has
  // some, or the ledger ends.
  private async readPage(before: string | null, signal: AbortSignal): Promise<Page> {
    const { groupId, isOwn, deviceId, kinds, filter } = this.selection;
    const query = {
      groupId,
      subgroups: !isOwn,
      limit: PAGE_ITEMS,
      ...(deviceId ? { deviceId } : {}),
      ...(kinds?.length ? { kinds: [...kinds] as never } : {}),
      ...(filter ? { filter } : {}),
      ...((before ?? this.until) ? { before: before ?? this.until ?? "" } : {}),
    };
    let page = await read(api.GET("/group/records", { params: { query }, signal }));
    const items = [...page.items];
    while (items.length < PAGE_ITEMS / 4 && page.nextToken) {
      page = await read(api.GET("/group/records", { params: { query: { ...query, nextToken: page.nextToken } }, signal }));
      items.push(...page.items);
    }
    return { items, isLast: !page.nextToken };
  }

  private addOlder(before: string | null, { items, isLast }: Page): void {
    const fresh = this.feed.addOlder(before, items, isLast);
    if (fresh === null || this.hasCountedEarlier) return;
    this.rates.addEarlier(fresh, isLast);
    this.hasCountedEarlier = true;
  }

  // The newest page. Where it does not reach down to the list, the list ends with it.
  private closeGap(after: string, { items, isLast }: Page): void {
    const oldest = items.at(-1);
    if (!isLast && oldest && isNewer(oldest.id, after)) {
      this.feed.cut({ count: 0, from: after, to: oldest.id });
      this.rates.forgetUntil(oldest);
    }
    this.arrived(items);
  }

  private arrived(items: FeedView["rows"]): void {
    const fresh = this.feed.add(items);
    this.rates.add(fresh);
    for (const each of fresh) {
      const { deviceId } = each.record;
      const known = this.devices.get(deviceId);
      if (this.devices.size >= RING_MAX && !known) continue;
      const last = known && isNewer(known.last.id, each.id) ? known.last : each;
      this.devices.set(deviceId, { deviceId, last, count: (known?.count ?? 0) + 1 });
    }
    this.publishArrivals();
  }

  private begin(): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    this.rates = new RateCounter(Date.now() + this.aheadMs);
    this.hasCountedEarlier = false;
    void this.loadOlder();
  }

  // The stream sends what is stored from now on.
  private follow(): void {
    this.stopCatchingUp();
    this.gapAfter ??= this.feed.newest;
    if (this.gapAfter !== null) {
      void this.catchUp();
      return;
    }
    // What was read, or is on its way, may be from before.
    this.stopLoading();
    this.feed.reopen();
    this.hasBegun = false;
    this.begin();
  }

  private stopLoading(): void {
    this.loading?.abort();
    this.loading = null;
    this.isLoading = false;
  }

  private stopCatchingUp(): void {
    this.catchingUp?.abort();
    this.catchingUp = null;
  }

  // The list will end above it.
  private forgetGap(): void {
    if (this.gapAfter === null) return;
    this.stopCatchingUp();
    this.gapAfter = null;
    this.error = null;
  }

  // After the list was cut off there may be less than a screen of it.
  private fill(): void {
    const { rows, isComplete } = this.feed.snapshot();
    if (this.hasBegun && rows.length < PAGE_ITEMS / 4 && !isComplete) void this.loadOlder();
  }

  private publish(): void {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.publishedAt = performance.now();
      this.version += 1;
      for (const listener of this.listeners) listener();
    });
  }

  // What arrives faster than anybody can read is shown a little later, and more of it at once.
  private publishArrivals(): void {
    const wait = this.publishedAt + ARRIVALS_MS - performance.now();
    if (wait <= 0) this.publish();
    else
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        this.publish();
      }, wait);
  }
}

export function useLiveSource(selection: LiveSelection, until: string | null): LiveSource {
  const address = streamAddress(selection);
  const latest = useRef(selection);
  latest.current = selection;
  // The address stands for all of the selection.
  const source = useMemo(() => new LiveSource(latest.current, until), [address, until]);
  useEffect(() => source.start(), [source]);
  return source;
}

// For those who show what arrives.
export function useFeed(source: LiveSource): FeedView {
  useSyncExternalStore(source.subscribe, () => source.version);
  return source.feed.snapshot();
}

// For those who show one thing of it, which seldom changes: a value that is equal renders nothing.
export function useFromFeed<Value extends string | number | boolean | null>(source: LiveSource, pick: (view: FeedView) => Value): Value {
  return useSyncExternalStore(source.subscribe, () => pick(source.feed.snapshot()));
}

const RATE_INTERVAL_MS = 1_000;

function useEverySecond<Value>(source: LiveSource, readNow: () => Value): Value {
  const latest = useRef(readNow);
  latest.current = readNow;
  const [value, setValue] = useState<Value>(readNow);
  useEffect(() => {
    const update = () => setValue(latest.current());
    update();
    const timer = setInterval(update, RATE_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [source]);
  return value;
}

export function useRates(source: LiveSource): Rates {
  return useEverySecond(source, () => source.rates.read(Date.now() + source.aheadMs));
}

// Whether fewer arrive than so many a second.
export function useIsBelow(source: LiveSource, perSecond: number): boolean {
  return useEverySecond(source, () => source.rates.read(Date.now() + source.aheadMs).perSecond <= perSecond);
}
