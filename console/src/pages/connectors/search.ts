import type { RawSearch } from "~/search";

export function connectorsSearch(_search: RawSearch): Record<never, never> {
  return {};
}

export function newConnectorSearch(_search: RawSearch): Record<never, never> {
  return {};
}

export function connectorSearch(_search: RawSearch): Record<never, never> {
  return {};
}
