import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { NETWORKS, deviceTypesQuery, type Device } from "./queries";
import { BATTERY_CHOICES, SEEN_CHOICES, type DevicesSearch, type Seen } from "./search";
import { t } from "~/messages/devices";

const DEBOUNCE_MS = 150;

export const SEEN_LABELS: Record<Seen, string> = {
  hour: "Seen in the last hour",
  day: "Seen in the last day",
  week: t("SeenInLastWeek"),
  longer: t("SeenLongerAgo"),
  never: t("NeverSeen"),
  silent: t("Silent"),
};

const SEEN_OPTIONS: Record<Seen, string> = {
  hour: "Last hour",
  day: "Last day",
  week: t("LastWeek"),
  longer: t("LongerAgo"),
  never: t("Never"),
  silent: t("Silent"),
};

type SetSearch = (change: Partial<DevicesSearch>, replace?: boolean) => void;

// Typing replaces the entry of the history, a moment after the last key.
export function Typed({
  value,
  onType,
  label,
  className,
  list,
}: {
  value: string | undefined;
  onType: (text: string | undefined) => void;
  label: string;
  className: string;
  list?: readonly string[];
}) {
  const [text, setText] = useState(value ?? "");
  const sent = useRef(value ?? "");
  const listId = useId();
  const latest = useRef(onType);
  latest.current = onType;
  useEffect(() => {
    // Changed from elsewhere: back, a removed chip, a link.
    if ((value ?? "") !== sent.current) {
      sent.current = value ?? "";
      setText(value ?? "");
    }
  }, [value]);
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = wanted;
      latest.current(wanted || undefined);
    }, DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <>
      <input
        type="search"
        className={`input ${className}`}
        placeholder={label}
        aria-label={label}
        value={text}
        maxLength={128}
        list={list ? listId : undefined}
        onChange={(event) => setText(event.target.value)}
      />
      {list && (
        <datalist id={listId}>
          {list.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </>
  );
}

function Choice({
  label,
  any,
  value,
  options,
  onChoose,
}: {
  label: string;
  any: string;
  value: string | undefined;
  options: readonly (readonly [string, string])[];
  onChoose: (value: string | undefined) => void;
}) {
  return (
    <select className="input" aria-label={label} value={value ?? ""} data-set={value ? true : undefined} onChange={(event) => onChoose(event.target.value || undefined)}>
      <option value="">{any}</option>
      {options.map(([key, text]) => (
        <option key={key} value={key}>
          {text}
        </option>
      ))}
    </select>
  );
}

function named(known: readonly (readonly [string, string])[], current: string | undefined): readonly (readonly [string, string])[] {
  return current === undefined || known.some(([key]) => key === current) ? known : [...known, [current, current]];
}

export function DeviceFilters({ search, set, rows, children }: { search: DevicesSearch; set: SetSearch; rows: readonly Device[]; children?: ReactNode }) {
  const types = useQuery(deviceTypesQuery);
  const [isOpen, setOpen] = useState(false);
  const count = [search.type, search.network, search.tag, search.seen, search.battery, search.values, search.where].filter(Boolean).length;
  const typeOptions = (types.data ?? []).flatMap((each) => (each.name ? [[each.name, each.displayName ?? each.name] as const] : []));
  const networks = [...new Set([...NETWORKS, ...rows.slice(0, 1_000).map((device) => device.network)])];
  const tags = [...new Set(rows.slice(0, 1_000).flatMap((device) => device.tags ?? []))].sort();
  return (
    <div className="filters" role="search" aria-label={t("FilterDevices")}>
      <Typed className="filter-q" label={t("NameIdOrTag")} value={search.q} onType={(q) => set({ q }, true)} />
      <button type="button" className="button button-normal filter-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {t("Filters")}{count > 0 && ` (${count})`}
      </button>
      <div className="filter-more" data-open={isOpen || undefined}>
        <Choice label={t("Type")} any={t("AnyType")} value={search.type} options={named(typeOptions, search.type)} onChoose={(type) => set({ type })} />
        <Choice
          label={t("Network")}
          any={t("AnyNetwork")}
          value={search.network}
          options={named(networks.map((each) => [each, each] as const), search.network)}
          onChoose={(network) => set({ network })}
        />
        <Typed className="filter-tag" label={t("Tag")} value={search.tag} list={tags} onType={(tag) => set({ tag }, true)} />
        <Choice
          label={t("LastSeen")}
          any={t("SeenAnyTime")}
          value={search.seen}
          options={SEEN_CHOICES.map((each) => [each, SEEN_OPTIONS[each]] as const)}
          onChoose={(seen) => set({ seen: seen as Seen | undefined })}
        />
        <Choice
          label={t("Battery")}
          any={t("AnyBattery")}
          value={search.battery}
          options={BATTERY_CHOICES.map((each) => [each, t("BelowPercent", { percent: each })] as const)}
          onChoose={(battery) => set({ battery: battery as DevicesSearch["battery"] })}
        />
        {children}
      </div>
    </div>
  );
}
