// What a connector takes, as a sentence: everybody who sees a connector sees how far it reaches.
import { t } from "~/messages/connectors";

export interface ScopeInput {
  readonly groupName: string;
  readonly withSubgroups: boolean;
  // None for all records.
  readonly kinds: readonly string[];
  readonly deviceTypes: readonly string[];
  // Names of devices, or their ids where the names are not known.
  readonly devices: readonly string[];
  readonly filter: string;
}

const KIND_WORDS: Readonly<Record<string, string>> = {
  data: "data",
  event: "events",
  geoloc: "geolocations",
  telemetry: "telemetry",
  alarm: "alarms",
  registry: "changes",
};
export const NAMED_MAX = 3;

function joined(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? "") : t("valueAndValue2", { value: words.slice(0, -1).join(", "), value2: words[words.length - 1] ?? "" });
}

// Parts of a filter that all have to hold, divided at `&&` outside of brackets and strings. Null
// where it cannot be divided, as with `||` on the same level.
export function conjuncts(filter: string): string[] | null {
  const parts: string[] = [];
  let depth = 0;
  let quote = "";
  let begin = 0;
  for (let at = 0; at < filter.length; at += 1) {
    const sign = filter[at] ?? "";
    if (quote) {
      if (sign === "\\") at += 1;
      else if (sign === quote) quote = "";
    } else if (sign === "'" || sign === '"') quote = sign;
    else if ("([{".includes(sign)) depth += 1;
    else if (")]}".includes(sign)) depth -= 1;
    else if (depth === 0 && (filter.startsWith("||", at) || sign === "?")) return null;
    else if (depth === 0 && filter.startsWith("&&", at)) {
      parts.push(filter.slice(begin, at));
      begin = at + 2;
      at += 1;
    }
  }
  if (quote || depth !== 0) return null;
  parts.push(filter.slice(begin));
  return parts.map((part) => part.trim()).filter(Boolean);
}

// The kinds that one condition asks for; null if it is about something else.
export function kindsOf(condition: string): string[] | null {
  const equal = /^message\.kind\s*==\s*(['"])(\w+)\1$/.exec(condition);
  if (equal?.[2] && equal[2] in KIND_WORDS) return [equal[2]];
  const listed = /^message\.kind\s+in\s+\[([^\]]*)\]$/.exec(condition);
  if (!listed) return null;
  const kinds = (listed[1] ?? "").split(",").map((each) => each.trim().replace(/^(['"])(.*)\1$/, "$2"));
  return kinds.every((each) => each in KIND_WORDS) ? kinds : null;
}

export function scopeSentence(input: ScopeInput): string {
  const filter = input.filter.trim();
  const parts = filter ? conjuncts(filter) : [];
  const asked = input.kinds.length ? input.kinds : null;
  const filtered = parts?.map(kindsOf).find((each) => each !== null) ?? null;
  const kinds = filtered ?? asked;
  const rest = filtered && parts ? parts.filter((each) => kindsOf(each) === null).join(" && ") : filter;
  const isEverything = !filter && !asked && input.deviceTypes.length === 0 && input.devices.length === 0;
  const what = isEverything ? "everything" : kinds ? joined(kinds.map((each) => KIND_WORDS[each] ?? each)) : t("allRecords");
  const types = input.deviceTypes.length ? ` ${t("ofTypeDeviceTypes", { deviceTypes: joined(input.deviceTypes) })}` : "";
  let which = types ? `devices${types}` : t("allDevices");
  if (input.devices.length > NAMED_MAX) which = t("countDevicesTypes", { count: input.devices.length, types });
  else if (input.devices.length) which = `${joined(input.devices)}${types ? t("ifTypes", { types }) : ""}`;
  const where = t("inGroupNameValue", { groupName: input.groupName, value: input.withSubgroups ? ` ${t("andBelow")}` : "" });
  const link = isEverything ? "from" : "of";
  return `${what} ${link} ${which} ${where}${rest ? t("whereRest", { rest }) : ""}`;
}
