// Objects that others have changed are asked for again: at most every two seconds, and not while
// the page is paused.
import type { QueryClient, QueryKey } from "@tanstack/react-query";
import { onPaused, paused } from "./pause";
import type { LiveChanged, LiveDeliveries } from "./protocol";

const INTERVAL_MS = 2_000;

// First parts of the keys of lists, by what is in them.
const LISTS: Readonly<Record<string, readonly string[]>> = {
  devices: ["devices", "overview", "positions", "drift"],
  connectors: ["connectors", "overview"],
  groups: ["groups", "overview"],
  deliveries: ["connectors", "messages", "connector-metrics", "connector-messages", "overview"],
};

// Whether a query is about one of the objects, or lists things of their kind.
export function isAffected(key: QueryKey, ids: ReadonlySet<string>, kinds: ReadonlySet<string>): boolean {
  if (key.some((part) => typeof part === "string" && ids.has(part))) return true;
  return [...kinds].some((kind) => LISTS[kind]?.includes(String(key[0])));
}

export class Invalidator {
  private ids = new Set<string>();
  private kinds = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly client: QueryClient;
  private readonly stopWatching: () => void;

  constructor(client: QueryClient) {
    this.client = client;
    this.stopWatching = onPaused(() => this.flushSoon());
  }

  changed(changed: LiveChanged): void {
    for (const kind of ["devices", "connectors", "groups"] as const) {
      const ids = changed[kind] ?? [];
      if (ids.length > 0) this.kinds.add(kind);
      for (const id of ids) this.ids.add(id);
    }
    this.flushSoon();
  }

  delivered(deliveries: readonly LiveDeliveries[]): void {
    if (deliveries.length > 0) this.kinds.add("deliveries");
    for (const { connectorId } of deliveries) this.ids.add(connectorId);
    this.flushSoon();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.stopWatching();
  }

  private flushSoon(): void {
    if (paused() || this.kinds.size === 0) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      if (!paused()) this.flush();
    }, INTERVAL_MS);
  }

  private flush(): void {
    const { ids, kinds } = this;
    this.ids = new Set();
    this.kinds = new Set();
    void this.client.invalidateQueries({ predicate: ({ queryKey }) => isAffected(queryKey, ids, kinds) });
  }
}
