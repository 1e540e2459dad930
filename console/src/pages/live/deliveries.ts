// Where the last records went: how many connectors delivered each, wait for it, or failed.
import { queryOptions } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { t } from "~/messages/live";

export interface Went {
  readonly delivered: number;
  readonly waiting: number;
  readonly failed: number;
}

const LIMIT = 500;
const NONE: Went = { delivered: 0, waiting: 0, failed: 0 };

// The id of a message holds that of its record: `msg_2a_1980` is record `rec_1980` on its way.
export function recordOfMessage(messageId: string): string | null {
  const found = /^msg_[0-9a-f]+_([0-9a-f]+)$/.exec(messageId);
  return found ? `rec_${found[1]}` : null;
}

export function wentByRecord(messages: readonly Schemas["ConnectorEvent"][]): ReadonlyMap<string, Went> {
  const found = new Map<string, Went>();
  for (const { id, status } of messages) {
    const record = recordOfMessage(id ?? "");
    if (record === null) continue;
    const before = found.get(record) ?? NONE;
    const field = status === "succeed" ? "delivered" : status === "failed" ? "failed" : "waiting";
    found.set(record, { ...before, [field]: before[field] + 1 });
  }
  return found;
}

export function wentWords({ delivered, waiting, failed }: Went): string {
  const parts = [delivered && t("deliveredDelivered", { delivered }), waiting && t("waitingWaiting", { waiting }), failed && t("failedFailed", { failed })];
  return parts.filter(Boolean).join(", ");
}

// Asked again when the stream says that messages were delivered: its key begins with "messages".
export function lastDeliveriesQuery(groupId: string) {
  return queryOptions({
    queryKey: ["messages", groupId, "live"],
    queryFn: async ({ signal }) => wentByRecord((await read(api.GET("/connector/messages", { params: { query: { groupId, limit: LIMIT } }, signal }))).items),
    structuralSharing: false,
  });
}
