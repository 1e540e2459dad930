// The page's end of the hub. Without shared workers the hub runs in the page itself.
import { Hub } from "./hub";
import { streamAddress, type FromHub, type LiveSelection, type StreamState, type ToHub } from "./protocol";
import { t } from "~/messages/live";

export type LiveEvent = FromHub;
type Handler = (event: LiveEvent) => void;

interface Subscription {
  readonly address: string;
  readonly wantsRecords: boolean;
  readonly handler: Handler;
}

const subscriptions = new Set<Subscription>();
let send: ((message: ToHub) => void) | null = null;

function receive(message: FromHub): void {
  for (const each of [...subscriptions]) {
    if (each.address !== message.address) continue;
    if (message.type !== "records" || each.wantsRecords) each.handler(message);
  }
}

function openInPage(): (message: ToHub) => void {
  const hub = new Hub({ fetch: window.fetch.bind(window), now: Date.now });
  // Not within the caller's call, as messages of a worker are not either.
  const listener = { postMessage: (message: FromHub) => queueMicrotask(() => receive(message)) };
  return (message) => hub.receive(listener, message);
}

function openShared(): ((message: ToHub) => void) | null {
  if (typeof SharedWorker === "undefined") return null;
  try {
    const worker = new SharedWorker(new URL("./hub.worker.ts", import.meta.url), { type: "module", name: "longwire live" });
    worker.port.onmessage = ({ data }: MessageEvent<FromHub>) => receive(data);
    worker.onerror = () => {
      send = openInPage();
      resubscribe();
    };
    return (message) => worker.port.postMessage(message);
  } catch {
    return null;
  }
}

// The wish for an address is the sum of all subscriptions of this page.
function subscribeTo(address: string): void {
  const wanting = [...subscriptions].filter((each) => each.address === address);
  if (wanting.length === 0) send?.({ type: "close", address });
  else send?.({ type: "open", address, wantsRecords: wanting.some((each) => each.wantsRecords) });
}

function resubscribe(): void {
  for (const address of new Set([...subscriptions].map((each) => each.address))) subscribeTo(address);
}

function connect(): void {
  if (send !== null) return;
  send = openShared() ?? openInPage();
  if (navigator.locks) {
    const name = t("longwireTabValue", { value: crypto.randomUUID() });
    void navigator.locks.request(name, () => {
      send?.({ type: "lock", name });
      return new Promise<never>(() => {});
    });
  }
  document.addEventListener("visibilitychange", () => send?.({ type: "visible", isVisible: document.visibilityState === "visible" }));
  window.addEventListener("pagehide", () => send?.({ type: "leave" }));
  // Out of the browser's cache of pages, as if it had never been left.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) resubscribe();
  });
}

// Listens until the returned function is called. The state comes first, as an event.
export function listen(selection: LiveSelection, wantsRecords: boolean, handler: Handler): () => void {
  connect();
  const subscription = { address: streamAddress(selection), wantsRecords, handler };
  subscriptions.add(subscription);
  subscribeTo(subscription.address);
  return () => {
    subscriptions.delete(subscription);
    subscribeTo(subscription.address);
  };
}

// After signing in again, or when a person does not want to wait.
export function retryLive(): void {
  send?.({ type: "retry" });
}

export type { StreamState };
