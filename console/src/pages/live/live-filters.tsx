import { useEffect, useId, useRef, useState } from "react";
import { ApiProblem, api, read } from "~/api/client";
import { KINDS } from "~/live/rates";
import { DeviceChoice } from "~/pages/devices/device-picker";
import { KIND_LABELS } from "~/ui/pill";
import { useSettled } from "~/ui/settled";
import type { ChangeSearch } from "./live-page";
import type { LiveSearch } from "./search";
import { t } from "~/messages/live";

const TYPING_MS = 400;

interface FilterProps {
  groupId: string;
  search: LiveSearch;
  change: ChangeSearch;
}

export function LiveFilters(props: FilterProps) {
  return (
    <div className="filters live-filters">
      <KindChoice {...props} />
      <DeviceChoice groupId={props.groupId} deviceId={props.search.device} onChoose={(device) => props.change({ device })} />
      <FilterField {...props} />
    </div>
  );
}

function KindChoice({ search, change }: FilterProps) {
  const chosen = search.kind ?? KINDS;
  const toggle = (kind: string) => {
    const next = KINDS.filter((each) => (each === kind ? !chosen.includes(each) : chosen.includes(each)));
    change({ kind: next.length === 0 || next.length === KINDS.length ? undefined : [...next] });
  };
  return (
    <fieldset className="live-kinds">
      <legend className="visually-hidden">{t("Kinds")}</legend>
      {KINDS.map((kind) => (
        <label key={kind} className="live-kind">
          <input type="checkbox" checked={chosen.includes(kind)} onChange={() => toggle(kind)} />
          <span className="kind" data-kind={kind}>
            {KIND_LABELS[kind]}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

// What is wrong with an expression, in the words of the service, or null. Nothing is looked at: no
// record arrived before 1970.
async function checkFilter(groupId: string, filter: string, signal: AbortSignal): Promise<string | null> {
  try {
    await read(api.GET("/group/records", { params: { query: { groupId, filter, before: "1970-01-01", limit: 1 } }, signal }));
    return null;
  } catch (error) {
    if (error instanceof ApiProblem && error.status < 500) return error.fields.find((each) => each.field === "filter")?.message ?? error.message;
    throw error;
  }
}

function FilterField({ groupId, search, change }: FilterProps) {
  const id = useId();
  const applied = search.filter ?? "";
  const [draft, setDraft] = useState(applied);
  const [problem, setProblem] = useState<string | null>(null);
  const written = useRef(applied);
  useEffect(() => {
    // The address changed by other means than this field.
    if (applied === written.current) return;
    written.current = applied;
    setDraft(applied);
    setProblem(null);
  }, [applied]);
  const settled = useSettled(draft.trim(), TYPING_MS);
  useEffect(() => {
    if (settled === written.current) {
      setProblem(null);
      return;
    }
    const aborting = new AbortController();
    const check = async () => {
      const found = settled ? await checkFilter(groupId, settled, aborting.signal) : null;
      if (aborting.signal.aborted) return;
      setProblem(found);
      if (found !== null) return;
      written.current = settled;
      change({ filter: settled || undefined }, { replace: true });
    };
    check().catch(() => {});
    return () => aborting.abort();
  }, [settled, groupId, change]);
  const isApplied = applied !== "" && draft.trim() === applied;
  return (
    <div className={`field live-filter ${problem ? "field-wrong" : ""}`}>
      <label htmlFor={id} className="visually-hidden">
        {t("Filter")}
      </label>
      <input
        id={id}
        className="input input-code"
        spellCheck={false}
        autoComplete="off"
        placeholder={t("FilterMessageValuesCelsius8")}
        value={draft}
        aria-invalid={problem ? true : undefined}
        aria-describedby={`${id}-state`}
        onChange={(event) => setDraft(event.target.value)}
      />
      {isApplied && <span aria-hidden="true" className="live-filter-ok">✓</span>}
      <p id={`${id}-state`} className="field-error" role="status">
        {problem && (
          <>
            {problem.replace(/\.$/, "")}. {applied ? t("previousFilterStaysInUse") : t("NothingIsFilteredUntilItIs")}
          </>
        )}
      </p>
    </div>
  );
}
