import { SEVERITIES, type Severity } from "~/alarms/words";
import { choiceParam, flagParam, textParam, type RawSearch } from "~/search";

export const ALARM_TABS = ["open", "history", "silences"] as const;
export type AlarmTab = (typeof ALARM_TABS)[number];

export interface AlarmsSearch {
  tab?: AlarmTab | undefined;
  severity?: Severity | undefined;
  reason?: string | undefined;
  device?: string | undefined;
  // Only those of the group itself.
  own?: true | undefined;
  // The alarm that is open beside the list.
  alarm?: string | undefined;
}

export function alarmsSearch(search: RawSearch): AlarmsSearch {
  return {
    tab: choiceParam(search, "tab", ALARM_TABS),
    severity: choiceParam(search, "severity", SEVERITIES),
    reason: textParam(search, "reason"),
    device: textParam(search, "device"),
    own: flagParam(search, "own") ? true : undefined,
    alarm: textParam(search, "alarm"),
  };
}
