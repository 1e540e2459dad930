// The part of the device list that is about values: which of them are columns, and which devices are
// left out because of them.
import { useState, type FormEvent } from "react";
import { useQuery } from "@tanstack/react-query";
import { byName, groupMeasurementsQuery, type NamedMeasurement } from "~/measurements/group-measurements";
import { MeasurementsChoice } from "~/measurements/picker";
import { measurementLabel } from "~/measurements/values";
import { Button } from "~/ui/button";
import { Select, TextField } from "~/ui/field";
import { Popover } from "~/ui/menu";
import { AGES, comparisonOf, comparisonWords, needsValue, operationsOf, OPERATION_WORDS, withoutComparison, type ValueOperation } from "./comparisons";
import { VALUES_MAX, WHERE_MAX, type DevicesSearch } from "./search";
import { t } from "~/messages/devices";

function ValueFilter({ groupId, onAdd }: { groupId: string; onAdd: (comparison: string, name: string) => void }) {
  const query = useQuery(groupMeasurementsQuery(groupId));
  const items = byName(query.data ?? []);
  const [chosen, setName] = useState<string | undefined>();
  const name = chosen ?? items[0]?.name ?? "";
  const [operation, setOperation] = useState<ValueOperation>("below");
  const [value, setValue] = useState("");
  const [age, setAge] = useState<string>(AGES[2][0]);
  const [error, setError] = useState<string | undefined>();
  const item = items.find((each) => each.name === name);
  const possible = operationsOf(item?.class);
  const used = possible.includes(operation) ? operation : (possible[0] ?? "is");
  const isNumber = item?.class !== "state";
  if (query.isError) return <p className="value-filter">{query.error.message}</p>;
  if (items.length === 0) return <p className="value-filter ink-2">{query.isPending ? t("Loading2") : t("TheseDevicesHaveMeasuredNothingYet")}</p>;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const comparison = comparisonOf(name, used, value, age);
    if (comparison === null || (isNumber && needsValue(used) && Number.isNaN(Number(value)))) return setError(isNumber ? t("EnterNumber") : t("EnterWordOrYesOrNo"));
    onAdd(comparison, name);
  };
  return (
    <form className="value-filter" onSubmit={submit}>
      <Select label={t("OnlyDevicesWhose")} options={items.map((each) => [each.name, measurementLabel(each)] as const)} value={name} onChange={(event) => setName(event.target.value)} />
      <Select label={t("Comparison")} options={possible.map((each) => [each, OPERATION_WORDS[each]] as const)} value={used} onChange={(event) => setOperation(event.target.value as ValueOperation)} />
      {needsValue(used) && (
        <TextField label={t("ValueValue", { value: item?.unit ? `, ${item.unit}` : "" })} inputMode={isNumber ? "decimal" : "text"} value={value} error={error} maxLength={256} onChange={(event) => setValue(event.target.value)} />
      )}
      {used === "older" && <Select label={t("Age")} options={AGES} value={age} onChange={(event) => setAge(event.target.value)} />}
      <Button type="submit" look="primary" writes={false}>
        {t("Add")}
      </Button>
    </form>
  );
}

export function ValueFilters({ groupId, known, search, set }: { groupId: string; known: ReadonlyMap<string, NamedMeasurement>; search: DevicesSearch; set: (change: Partial<DevicesSearch>) => void }) {
  const where = search.where ?? [];
  const values = search.values ?? [];
  // What is asked about is shown, too.
  const add = (comparison: string, name: string) =>
    set({ where: [...new Set([...where, comparison])], ...(values.includes(name) || values.length >= VALUES_MAX ? {} : { values: [...values, name] }) });
  return (
    <>
      <MeasurementsChoice groupId={groupId} label={t("Values")} chosen={values} max={VALUES_MAX} onChange={(names) => set({ values: names.length > 0 ? names : undefined })} />
      {where.length < WHERE_MAX && (
        <Popover label={<>{t.rich("FilterByValuePart", { part: <span aria-hidden="true">⌄</span> })}</>}>
          {(close) => (
            <ValueFilter
              groupId={groupId}
              onAdd={(comparison, name) => {
                close();
                add(comparison, name);
              }}
            />
          )}
        </Popover>
      )}
      {where.map((each) => {
        const words = comparisonWords(each, known);
        return (
          <button key={each} type="button" className="chip" aria-label={t("RemoveFilterWords", { words })} onClick={() => set(withoutComparison(search, each))}>
            {words} <span aria-hidden="true">×</span>
          </button>
        );
      })}
    </>
  );
}
