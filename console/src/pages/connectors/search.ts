import { choiceParam, textParam, type RawSearch } from "~/search";

export interface ConnectorsSearch {
  q?: string | undefined;
}

export function connectorsSearch(search: RawSearch): ConnectorsSearch {
  return { q: textParam(search, "q") };
}

export interface NewConnectorSearch {
  type?: string | undefined;
}

export function newConnectorSearch(search: RawSearch): NewConnectorSearch {
  return { type: textParam(search, "type") };
}

export const CONNECTOR_TABS = ["overview", "messages", "edit", "replays", "changes"] as const;
export type ConnectorTab = (typeof CONNECTOR_TABS)[number];

export interface ConnectorSearch {
  tab?: ConnectorTab | undefined;
  // The message that is open beside the list.
  message?: string | undefined;
  // The span of the chart that is to be replayed.
  replayFrom?: string | undefined;
  replayTo?: string | undefined;
}

export function connectorSearch(search: RawSearch): ConnectorSearch {
  return {
    tab: choiceParam(search, "tab", CONNECTOR_TABS),
    message: textParam(search, "message"),
    replayFrom: textParam(search, "replayFrom"),
    replayTo: textParam(search, "replayTo"),
  };
}
