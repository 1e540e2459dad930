import { devicesSearch, type DevicesSearch } from "~/pages/devices/search";
import { choiceParam, type RawSearch } from "~/search";

export const STATES = ["waiting", "running", "succeeded", "failed", "cancelled"] as const;
export const KINDS = ["tag", "type", "transfer", "configuration", "delete", "redecode", "resend", "replay", "export"] as const;
export const OUTCOMES = ["changed", "skipped", "failed", "undone"] as const;

export type State = (typeof STATES)[number];
export type Kind = (typeof KINDS)[number];
export type Outcome = (typeof OUTCOMES)[number];

// A new job is chosen with the filters of Devices, which are in the address as there.
export interface JobsSearch extends DevicesSearch {
  state?: State | undefined;
  new?: Kind | undefined;
}

export function jobsSearch(search: RawSearch): JobsSearch {
  const kind = choiceParam(search, "new", KINDS);
  return { ...(kind ? devicesSearch(search) : {}), state: choiceParam(search, "state", STATES), new: kind };
}

export interface JobSearch {
  outcome?: Outcome | undefined;
}

export function jobSearch(search: RawSearch): JobSearch {
  return { outcome: choiceParam(search, "outcome", OUTCOMES) };
}
