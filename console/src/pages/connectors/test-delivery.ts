// A real delivery before a connector is in use: it is created so that it takes one stored record
// and nothing else, that record is replayed, and the message's attempt is looked at.
import { api, read, type Schemas } from "~/api/client";
import { bodyOf, type ConnectorForm } from "./form";
import type { PreviewItem } from "./preview";
import type { Connector } from "./queries";
import type { FormField } from "./schema-form";

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}

export function onlyThis(record: Pick<PreviewItem, "deviceId" | "kind" | "timestamp">): string {
  const { deviceId, kind, timestamp } = record;
  const device = deviceId ? `message.deviceId == ${quoted(deviceId)}` : "!has(message.deviceId)";
  return `${device} && message.kind == ${quoted(kind)} && message.timestamp == ${quoted(timestamp)}`;
}

const ONE_ATTEMPT = { retryDelay: 1, maxRetry: 0 };

export async function saveForTest(
  groupId: string,
  created: Connector | null,
  form: ConnectorForm,
  fields: readonly FormField[],
  record: PreviewItem,
): Promise<Connector> {
  const { retry: _retry, ...draft } = bodyOf(form, fields);
  const body = {
    ...draft,
    groupId,
    name: `${draft.name || "New connector"} (test)`,
    deviceTypes: [],
    deviceIds: [],
    messageFilter: onlyThis(record),
    retryPolicy: ONE_ATTEMPT,
    enabled: true,
  };
  if (!created) return read(api.POST("/connector", { body }));
  return read(api.PUT("/connector", { body: { ...body, connectorId: created.id } }));
}

export async function replayOne(connector: Connector, record: PreviewItem): Promise<void> {
  const end = new Date(Date.parse(record.timestamp) + 1).toISOString();
  const body = { groupId: connector.groupId, connectorId: connector.id, beginDate: record.timestamp, endDate: end };
  await read(api.POST("/connector/replay", { body }));
}

// The connector as it is to be; the one of the test becomes it.
export function saveFinal(groupId: string, created: Connector | null, form: ConnectorForm, fields: readonly FormField[], enabled: boolean): Promise<Connector> {
  const { retry, ...draft } = bodyOf(form, fields);
  if (created) return read(api.PUT("/connector", { body: { ...draft, groupId, connectorId: created.id, enabled, retryPolicy: retry ?? "" } }));
  const body: Schemas["ConnectorInput"] = { ...draft, groupId, enabled, ...(retry ? { retryPolicy: retry } : {}) };
  return read(api.POST("/connector", { body }));
}
