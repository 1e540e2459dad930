// What a page and the hub say to each other. The hub is shared by all tabs of a browser.
import type { Schemas } from "~/api/client";
import { BASE_PATH } from "~/base-path";

export type Arrival = Schemas["Arrival"];
export type LiveLost = Schemas["LiveLost"];
export type LiveChanged = Schemas["LiveChanged"];
export type LiveDeliveries = Schemas["LiveDeliveries"];

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
}

export type StreamState =
  | { readonly is: "connecting" }
  // `aheadMs`: by how much the clock of the service is ahead of the browser's.
  | { readonly is: "live"; readonly aheadMs: number }
  | { readonly is: "reconnecting"; readonly since: number }
  | { readonly is: "refused"; readonly refusal: Refusal };

// `address` names a stream: the path and query of /live.
export type ToHub =
  | { readonly type: "open"; readonly address: string; readonly wantsRecords: boolean }
  | { readonly type: "close"; readonly address: string }
  | { readonly type: "visible"; readonly isVisible: boolean }
  // Streams that were refused or wait are opened now, as after signing in again.
  | { readonly type: "retry" }
  // The name of a lock that the tab holds for as long as it lives.
  | { readonly type: "lock"; readonly name: string }
  | { readonly type: "leave" };

export type FromHub = { readonly address: string } & (
  | { readonly type: "state"; readonly state: StreamState }
  // Connected without going on behind an earlier connection.
  | { readonly type: "fresh" }
  | { readonly type: "records"; readonly items: readonly Arrival[] }
  | { readonly type: "lost"; readonly lost: LiveLost }
  | { readonly type: "changed"; readonly changed: LiveChanged }
  | { readonly type: "deliveries"; readonly deliveries: readonly LiveDeliveries[] }
);

export interface LiveSelection {
  readonly groupId: string;
  // Only of the group itself; else with all groups below.
  readonly isOwn?: boolean | undefined;
  readonly deviceId?: string | undefined;
  readonly kinds?: readonly string[] | undefined;
  readonly filter?: string | undefined;
}

export function streamAddress({ groupId, isOwn, deviceId, kinds, filter }: LiveSelection): string {
  const query = new URLSearchParams({ groupId, subgroups: isOwn ? "false" : "true" });
  if (deviceId) query.set("deviceId", deviceId);
  for (const kind of [...(kinds ?? [])].sort()) query.append("kinds", kind);
  if (filter) query.set("filter", filter);
  return `${BASE_PATH}/live?${query.toString()}`;
}
