// The newest records as one list without holes. It reaches from the newest down to some record;
// whatever is older is in the ledger of the service and is loaded from there, so a list that is cut
// off, and a stream that left something out, lose nothing: the rest is further down.
import type { Arrival, LiveLost } from "./protocol";

export const RING_MAX = 5_000;

export interface FeedView {
  // Newest first.
  readonly rows: readonly Arrival[];
  // Collected meanwhile, and not in the list yet.
  readonly waiting: number;
  // More came than a ring can keep: going on shows the newest, and the rest from the ledger.
  readonly hasOverflowed: boolean;
  // Left out by the stream; null if some were not counted.
  readonly lost: number | null;
  // Nothing older is in the ledger.
  readonly isComplete: boolean;
}

// Ids are numbers in hex without leading zeros, in the order of arrival.
export function isNewer(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}

function byArrival(a: Arrival, b: Arrival): number {
  if (a.id === b.id) return 0;
  return isNewer(a.id, b.id) ? 1 : -1;
}

export class Feed {
  // Both oldest first, so that what arrives is appended.
  private rows: Arrival[] = [];
  private waiting: Arrival[] = [];
  private readonly ids = new Set<string>();
  private isHeld = false;
  private hasOverflowed = false;
  private lost: number | null = 0;
  private isComplete = false;
  private view: FeedView | null = null;

  // What arrived now. Returns those that were not known, for whoever counts.
  add(items: readonly Arrival[]): Arrival[] {
    const fresh = items.filter((each) => !this.ids.has(each.id));
    if (fresh.length === 0) return fresh;
    for (const each of fresh) this.ids.add(each.id);
    if (this.isHeld) {
      this.waiting = merge(this.waiting, fresh);
      if (this.waiting.length > RING_MAX) {
        this.dropIds(this.waiting.splice(0, this.waiting.length - RING_MAX));
        this.hasOverflowed = true;
      }
    } else this.rows = this.trim(merge(this.rows, fresh));
    this.view = null;
    return fresh;
  }

  // A page of the ledger that was asked for behind `before`. The list may have been cut off since:
  // then it does not follow any more, and is dropped. Returns those that were not known; null if dropped.
  addOlder(before: string | null, items: readonly Arrival[], isComplete: boolean): Arrival[] | null {
    if (before !== this.oldest) return null;
    const fresh = items.filter((each) => !this.ids.has(each.id));
    for (const each of fresh) this.ids.add(each.id);
    this.rows = merge([...fresh].sort(byArrival), this.rows);
    this.isComplete = isComplete;
    this.view = null;
    return fresh;
  }

  // Held lists stay as they are; what arrives waits.
  hold(isHeld: boolean): void {
    if (this.isHeld === isHeld) return;
    this.isHeld = isHeld;
    if (!isHeld) this.release();
  }

  // Takes what waits into the list, held or not.
  release(): void {
    if (this.waiting.length === 0 && !this.hasOverflowed) return;
    if (this.hasOverflowed) {
      // Some of what waits may be older than the newest of the list, where it was to close a gap.
      const from = this.waiting[0]?.id;
      const isKept = (each: Arrival) => from !== undefined && isNewer(each.id, from);
      this.dropIds(this.rows.filter((each) => !isKept(each)));
      this.rows = merge(this.rows.filter(isKept), this.waiting);
      this.isComplete = false;
    } else this.rows = this.trim(merge(this.rows, this.waiting));
    this.waiting = [];
    this.hasOverflowed = false;
    this.view = null;
  }

  // The stream has left records out before `to`: the list ends there, and goes on in the ledger.
  cut({ count, to }: LiveLost): void {
    this.lost = this.lost === null || count === null || count === undefined ? null : this.lost + count;
    const isKept = (each: Arrival) => each.id === to || isNewer(each.id, to);
    const shown = this.isHeld ? this.waiting : this.rows;
    const kept = shown.filter(isKept);
    this.dropIds(shown.filter((each) => !isKept(each)));
    if (this.isHeld) {
      this.waiting = kept;
      this.hasOverflowed = true;
    } else {
      this.rows = kept;
      this.isComplete = false;
    }
    this.view = null;
  }

  // There may be some in the ledger by now.
  reopen(): void {
    this.isComplete = false;
    this.view = null;
  }

  get newest(): string | null {
    return (this.waiting.at(-1) ?? this.rows.at(-1))?.id ?? null;
  }

  // The id behind which the ledger goes on; null for its newest.
  get oldest(): string | null {
    return (this.rows[0] ?? this.waiting[0])?.id ?? null;
  }

  snapshot(): FeedView {
    this.view ??= {
      rows: [...this.rows].reverse(),
      waiting: this.waiting.length,
      hasOverflowed: this.hasOverflowed,
      lost: this.lost,
      isComplete: this.isComplete,
    };
    return this.view;
  }

  private trim(rows: Arrival[]): Arrival[] {
    if (rows.length <= RING_MAX) return rows;
    this.dropIds(rows.slice(0, rows.length - RING_MAX));
    this.isComplete = false;
    return rows.slice(rows.length - RING_MAX);
  }

  private dropIds(rows: readonly Arrival[]): void {
    for (const each of rows) this.ids.delete(each.id);
  }
}

// Both oldest first. Records of several processes may come a little out of order.
function merge(before: readonly Arrival[], after: readonly Arrival[]): Arrival[] {
  const all = [...before, ...after];
  for (let at = Math.max(1, before.length); at < all.length; at++)
    if (byArrival(all[at - 1] as Arrival, all[at] as Arrival) > 0) return all.sort(byArrival);
  return all;
}
