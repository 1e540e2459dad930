import { choiceParam, textParam, type RawSearch } from "~/search";

export const STATUSES = ["processing", "succeed", "failed"] as const;
export type Status = (typeof STATUSES)[number];
export const KINDS = ["data", "event", "geoloc", "telemetry", "alarm", "registry"] as const;
export type Kind = (typeof KINDS)[number];

export interface MessagesSearch {
  status?: Status | undefined;
  connector?: string | undefined;
  device?: string | undefined;
  kind?: Kind | undefined;
  // The message that is open beside the list.
  message?: string | undefined;
}

export function messagesSearch(search: RawSearch): MessagesSearch {
  return {
    status: choiceParam(search, "status", STATUSES),
    connector: textParam(search, "connector"),
    device: textParam(search, "device"),
    kind: choiceParam(search, "kind", KINDS),
    message: textParam(search, "message"),
  };
}
