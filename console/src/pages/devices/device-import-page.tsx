// Devices out of a spreadsheet: pasted or dropped, checked line by line, and created when all are right.
import { useEffect, useMemo, useRef, useState, type DragEvent } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { api, fetchRaw, read, type Schemas } from "~/api/client";
import { mayCall, useMay, useRights } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { stringifySearch } from "~/search";
import { Button } from "~/ui/button";
import { useUnsaved } from "~/ui/drafts";
import { Checkbox, Select, TextArea } from "~/ui/field";
import { PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { ErrorState } from "~/ui/state";
import { Table, type Column } from "~/ui/table";
import { showToast } from "~/ui/toast";
import { Locked } from "~/ui/why";
import { countOf, STEP_MAX } from "./bulk";
import { columnName, planImport, summaryOf, withAnswer, withDuplicates, type ImportPlan, type LineState, type LineStates } from "./import-plan";
import type { CsvLine } from "./csv";
import { NetworkField } from "./network-field";
import { deviceTypesQuery } from "./queries";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/devices";
import "./devices.css";

const route = getRouteApi("/frame/g/$groupId/devices/import");
const CHECK_AFTER_MS = 300;
const COLUMNS_MAX = 7;
const EXAMPLE = `${t("nameOriginalIdTypeNetworkTagsCold")}
`;

interface Defaults {
  type?: string | undefined;
  network?: string | undefined;
}

async function send(groupId: string, defaults: Defaults, text: string, dryRun: boolean, signal: AbortSignal) {
  const address = `/devices/import${stringifySearch({ groupId, ...defaults, dryRun: dryRun ? "true" : undefined })}`;
  const response = await fetchRaw(address, { method: "POST", body: text, headers: { "Content-Type": "text/csv" }, signal });
  return (await response.json()) as Schemas["ImportReturn"];
}

interface Check {
  states: LineStates;
  checked: number;
  ignored: readonly string[];
  isDone: boolean;
  error: unknown;
}

const UNCHECKED: Check = { states: new Map(), checked: 0, ignored: [], isDone: false, error: null };

// The dry run of every step, again whenever the text changes.
function useCheck(groupId: string, plan: ImportPlan, { type, network }: Defaults): Check & { retry: () => void } {
  const [check, setCheck] = useState<Check>(UNCHECKED);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    setCheck(UNCHECKED);
    if (plan.lines.length === 0) return;
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      let states: LineStates = new Map();
      let checked = 0;
      try {
        for (const step of plan.steps) {
          const answer = await send(groupId, { type, network }, step.text, true, stop.signal);
          states = withAnswer(states, step, answer);
          checked += step.lineOf.size - 1;
          const isDone = checked >= plan.lines.length;
          setCheck({ states: isDone ? withDuplicates(states, plan, network ?? "") : states, checked, ignored: answer.ignoredColumns, isDone, error: null });
          if (states.get(1)?.errors.length) break;
        }
      } catch (error) {
        if (!stop.signal.aborted) setCheck({ ...UNCHECKED, error });
      }
    }, CHECK_AFTER_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [groupId, plan, type, network, attempt]);
  return { ...check, retry: () => setAttempt(attempt + 1) };
}

function Status({ state }: { state: LineState | undefined }) {
  if (!state) return <span className="ink-3">{t("notChecked")}</span>;
  if (state.errors.length > 0) {
    const text = state.errors.map((each) => `${each.column} ${each.message}`).join("; ");
    return (
      <span className="line-wrong" title={text}>
        <span aria-hidden="true">▲</span> {text}
      </span>
    );
  }
  return state.status === "existing" ? <Pill tone="idle">{t("alreadyThere")}</Pill> : <Pill tone="good">{t("new")}</Pill>;
}

function useColumns(plan: ImportPlan, states: LineStates): readonly Column<CsvLine>[] {
  return useMemo(() => {
    const cells = plan.header.slice(0, COLUMNS_MAX).map((head, index): Column<CsvLine> => {
      const name = columnName(head);
      return {
        id: `${index}`,
        head,
        width: "minmax(80px, 1fr)",
        card: name === "originalId" ? "title" : "none",
        cell: ({ line, cells: given }) => {
          const isWrong = states.get(line)?.errors.some((each) => columnName(each.column) === name) ?? false;
          const text = given[index] ?? "";
          return <span className={isWrong ? "cell-wrong" : undefined} title={text}>{text || (isWrong ? "(empty)" : "")}</span>;
        },
      };
    });
    return [
      { id: "line", head: t("Line"), width: "56px", align: "end", cell: ({ line }) => <span className="ink-3">{line.toLocaleString(LOCALE)}</span> },
      { id: "status", head: t("Check"), width: "minmax(180px, 1.6fr)", card: "line", cell: ({ line }) => <Status state={states.get(line)} /> },
      ...cells,
    ];
  }, [plan.header, states]);
}

async function removeCreated(groupId: string, ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += STEP_MAX)
    await read(api.POST("/devices/delete", { body: { groupId, deviceIds: ids.slice(at, at + STEP_MAX) } }));
}

interface Run {
  done: number;
  created: string[];
  existing: number;
  isOver: boolean;
  error: unknown;
}

function useImport(groupId: string, plan: ImportPlan, defaults: Defaults) {
  const client = useQueryClient();
  const [run, setRun] = useState<Run | null>(null);
  const stopper = useRef<AbortController | null>(null);
  const mayDelete = useMay(groupId, "POST /devices/delete");
  const start = async () => {
    const stop = new AbortController();
    stopper.current = stop;
    let state: Run = { done: 0, created: [], existing: 0, isOver: false, error: null };
    setRun(state);
    for (const step of plan.steps) {
      if (stop.signal.aborted) break;
      try {
        // Not aborted on the way: a step that was sent is waited for, so that what it did is known.
        const answer = await send(groupId, defaults, step.text, false, new AbortController().signal);
        const created = answer.items.flatMap((item) => (item.status === "created" && item.deviceId ? [item.deviceId] : []));
        state = { ...state, done: state.done + step.lineOf.size - 1, created: [...state.created, ...created], existing: state.existing + answer.existing };
        setRun(state);
      } catch (error) {
        state = { ...state, error };
        break;
      }
    }
    setRun({ ...state, isOver: true });
    void client.invalidateQueries({ queryKey: ["devices"] });
    if (state.created.length === 0) return;
    const { created } = state;
    const text = t("CreatedLength", { length: countOf(created.length) });
    if (!mayDelete) return void showToast(text);
    showToast(text, {
      action: {
        label: t("Undo"),
        run: async () => {
          try {
            await removeCreated(groupId, created);
            setRun(null);
            showToast(t("UndoneLengthDeletedAgain", { length: countOf(created.length) }));
          } catch (error) {
            showToast(error instanceof Error ? error.message : String(error), { tone: "bad" });
          }
          void client.invalidateQueries({ queryKey: ["devices"] });
        },
      },
    });
  };
  return { run, start, stop: () => stopper.current?.abort(), reset: () => setRun(null) };
}

export function DeviceImportPage() {
  const { groupId } = route.useParams();
  const search = route.useSearch();
  const setSearch = route.useNavigate();
  const rights = useRights(groupId);
  const group = useQuery(groupQuery(groupId));
  const types = useQuery(deviceTypesQuery);
  const [text, setText] = useState("");
  const [fileName, setFileName] = useState<string | null>(null);
  const [onlyWrong, setOnlyWrong] = useState(false);
  const [isOver, setOver] = useState(false);
  const plan = useMemo(() => planImport(text), [text]);
  const check = useCheck(groupId, plan, search);
  const { run, start, stop, reset } = useImport(groupId, plan, search);
  useUnsaved(plan.lines.length > 0 && !(run?.isOver && run.error === null));
  const columns = useColumns(plan, check.states);
  const summary = summaryOf(check.states);
  const headErrors = check.states.get(1)?.errors ?? [];
  const rows = onlyWrong ? plan.lines.filter(({ line }) => check.states.get(line)?.errors.length) : plan.lines;
  const options = (types.data ?? []).flatMap((each) => (each.name ? [[each.name, each.displayName ?? each.name] as const] : []));

  const take = async (file: File | undefined) => {
    if (!file) return;
    reset();
    setFileName(file.name);
    setText(await file.text());
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void take(event.dataTransfer.files[0]);
  };
  const header = <PageHeader title={t("ImportDevices")} above={<Link to="/g/$groupId/devices" params={{ groupId }}>{t("DevicesOfName", { name: group.data?.name ?? t("group") })}</Link>} />;
  if (rights.isKnown && !mayCall(rights, "POST /devices/import"))
    return (
      <>
        {header}
        <Locked label={t("ImportDevices")} operation="POST /devices/import" groupId={groupId} />
      </>
    );
  const isRunning = run !== null && !run.isOver;
  const reason = !check.isDone ? t("NotAllLinesAreCheckedYet") : summary.wrong > 0 ? t("SomeLinesAreWrong") : summary.created === 0 ? t("ThereIsNothingNewInIt") : undefined;
  return (
    <>
      {header}
      <div className="import-source" data-over={isOver || undefined} onDragOver={(event) => (event.preventDefault(), setOver(true))} onDragLeave={() => setOver(false)} onDrop={drop}>
        <TextArea
          label={t("CSV")}
          isCode
          rows={plan.lines.length > 0 ? 4 : 8}
          placeholder={EXAMPLE}
          hint={
            <>
              {t.rich("PasteCellsOutOfSpreadsheetOr", { code: <code>originalId</code>, code2: <code>name</code>, code3: <code>type</code>, code4: <code>network</code>, code5: <code>tags</code>, code6: <code>configuration</code> })}
            </>
          }
          value={text}
          onChange={(event) => {
            reset();
            setFileName(null);
            setText(event.target.value);
          }}
        />
        <div className="filters">
          <label className="button button-normal file-button">
            {t("ChooseFile")}
            <input type="file" accept=".csv,text/csv,.txt,.tsv" className="visually-hidden" onChange={(event) => void take(event.target.files?.[0])} />
          </label>
          {fileName && <span className="ink-2">{fileName}</span>}
        </div>
        <div className="import-defaults">
          <Select
            label={t("TypeWhereLineHasNone")}
            options={[["", t("None")], ...options]}
            value={search.type ?? ""}
            onChange={(event) => void setSearch({ search: (before) => ({ ...before, type: event.target.value || undefined }), replace: true })}
          />
          <NetworkField
            source={t("NetworkWhereLineHasNone")}
            label={t("NameOfNetwork")}
            other={t("AnotherNetwork")}
            hint={t("NoneIfEachLineHasOne")}
            value={search.network ?? ""}
            onChange={(network) => void setSearch({ search: (before) => ({ ...before, network: network || undefined }), replace: true })}
          />
        </div>
      </div>
      {check.error !== null && <ErrorState error={check.error} onRetry={check.retry} operation="POST /devices/import" groupId={groupId} noun={t("group2")} />}
      {headErrors.length > 0 && (
        <p className="line-wrong" role="alert">
          {t.rich("partFirstLineValue", { part: <span aria-hidden="true">▲</span>, value: headErrors.map((each) => `${each.column} ${each.message}`).join("; ") })}
        </p>
      )}
      {plan.lines.length > 0 && (
        <>
          <div className="filters" role="status">
            <span className="number">
              {check.checked < plan.lines.length && `${t("CheckedCheckedOfCountLines", { checked: check.checked, count: plan.lines.length })} `}
              {t("createdNewExistingAlreadyThereWrong", { created: summary.created, existing: summary.existing, wrong: summary.wrong })}
            </span>
            {check.ignored.length > 0 && <span className="ink-2">{t("IgnoredColumnsValue", { value: check.ignored.join(", ") })}</span>}
            {summary.wrong > 0 && <Checkbox label={t("OnlyWrongLines")} checked={onlyWrong} onChange={(event) => setOnlyWrong(event.target.checked)} />}
          </div>
          <Table label={t("Lines")} rows={rows} columns={columns} rowKey={({ line }) => String(line)} rowClass={({ line }) => (check.states.get(line)?.errors.length ? "row-wrong" : undefined)} />
        </>
      )}
      {run?.error != null && <ErrorState error={run.error} />}
      {plan.lines.length > 0 && (
        <div className="form-actions import-actions">
          {isRunning ? (
            <>
              <progress className="bulk-progress" aria-label={t("Progress")} value={run.done} max={plan.lines.length} />
              <Button onClick={stop}>{t("Stop")}</Button>
            </>
          ) : run?.isOver && run.error === null ? (
            <p role="status">
              {t.rich("lengthCreatedExistingAlreadyThereValue", { length: countOf(run.created.length), existing: run.existing, value: run.done < plan.lines.length && t("stoppedAfterDoneLines", { done: run.done }), link: <Link to="/g/$groupId/devices" params={{ groupId }}>
                {t("ShowDevices")}
              </Link> })}
            </p>
          ) : (
            <Button look="primary" disabledReason={reason} onClick={() => void start()}>
              {t("ImportCreated", { created: countOf(summary.created) })}
            </Button>
          )}
        </div>
      )}
    </>
  );
}
