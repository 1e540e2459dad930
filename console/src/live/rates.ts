// Records a second, by kind, of the last two minutes.
import { momentOf } from "~/time";
import type { Arrival } from "./protocol";

export const KINDS = ["data", "telemetry", "geoloc", "event"] as const;
export const RATE_SECONDS = 120;
const MEAN_SECONDS = 5;

export interface Rates {
  readonly times: readonly number[];
  readonly counts: Readonly<Record<(typeof KINDS)[number], readonly (number | null)[]>>;
  // The mean of the last seconds.
  readonly perSecond: number;
  // Of how many of these seconds it is known how many there were.
  readonly knownSeconds: number;
}

function secondOf(arrival: Arrival): number {
  return Math.floor((momentOf(arrival.arrivedAt) ?? 0) / 1_000);
}

export class RateCounter {
  private readonly seconds = new Map<number, Record<string, number>>();

  // Before this nobody counted, which differs from none.
  private since: number;

  constructor(since: number) {
    this.since = since;
  }

  add(items: readonly Arrival[]): void {
    for (const each of items) {
      const second = secondOf(each);
      const counts = this.seconds.get(second) ?? {};
      counts[each.kind] = (counts[each.kind] ?? 0) + 1;
      this.seconds.set(second, counts);
    }
  }

  // What arrived before, without holes; `isAll` if nothing is older.
  addEarlier(items: readonly Arrival[], isAll: boolean): void {
    this.add(items);
    // There may have been more in the second of the oldest one.
    const known = Math.min(...items.map(secondOf)) + 1;
    this.since = isAll ? -Infinity : Math.min(this.since, known * 1_000);
  }

  // Some may not have been counted in the second of this one, and before.
  forgetUntil(arrival: Arrival): void {
    const last = secondOf(arrival);
    for (const second of this.seconds.keys()) if (second <= last) this.seconds.delete(second);
    this.since = (last + 1) * 1_000;
  }

  // `now` by the clock of the service. The second that runs is left out: it is not over.
  read(now: number): Rates {
    const end = Math.floor(now / 1_000);
    for (const second of this.seconds.keys()) if (second < end - RATE_SECONDS) this.seconds.delete(second);
    const seconds = Array.from({ length: RATE_SECONDS }, (_, index) => end - RATE_SECONDS + index);
    const first = Math.ceil(this.since / 1_000);
    const countOf = (second: number, kind: string) => {
      const counted = this.seconds.get(second)?.[kind];
      return counted ?? (second < first ? null : 0);
    };
    const counts = Object.fromEntries(KINDS.map((kind) => [kind, seconds.map((second) => countOf(second, kind))]));
    const recent = seconds.slice(-MEAN_SECONDS).filter((second) => second >= first);
    const sum = recent.reduce((total, second) => total + KINDS.reduce((all, kind) => all + (countOf(second, kind) ?? 0), 0), 0);
    return {
      times: seconds.map((second) => second * 1_000),
      counts: counts as unknown as Rates["counts"],
      perSecond: recent.length > 0 ? sum / recent.length : 0,
      knownSeconds: Math.max(0, Math.min(RATE_SECONDS, end - first)),
    };
  }
}
