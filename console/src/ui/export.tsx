// Everything that a filter matches, not what is loaded: streamed into a file, and stoppable. Above
// 200,000 lines a browser is the wrong tool, and the command is shown instead.
import { useRef, useState } from "react";
import { fetchRaw } from "~/api/client";
import { BASE_PATH, SERVICE_URL } from "~/base-path";
import { stringifySearch } from "~/search";
import { Button } from "./button";
import { CopyButton } from "./copy";
import { Dialog } from "./dialog";
import { Select } from "./field";
import { ErrorState } from "./state";
import { t } from "~/messages/ui";

export function saveBlob(parts: BlobPart[], name: string, type: string): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

// What an operation answers with: the browser itself saves it, however long it is, and can stop it.
export function download(path: string): void {
  const link = document.createElement("a");
  link.href = BASE_PATH + path;
  link.download = "";
  link.click();
}

interface Sink {
  write: (chunk: Uint8Array<ArrayBuffer>) => Promise<void> | void;
  close: () => Promise<void> | void;
  abort: () => Promise<void> | void;
}

// A chosen file where the browser can write one piece by piece; a small one is a download.
async function openSink(name: string, type: string, isLarge: boolean): Promise<Sink> {
  const picker = (window as { showSaveFilePicker?: (options: object) => Promise<{ createWritable: () => Promise<FileSystemWritableFileStream> }> }).showSaveFilePicker;
  if (isLarge && picker) {
    const stream = await (await picker({ suggestedName: name })).createWritable();
    return { write: (chunk) => stream.write(chunk), close: () => stream.close(), abort: () => stream.abort() };
  }
  const parts: Uint8Array<ArrayBuffer>[] = [];
  return { write: (chunk) => void parts.push(chunk), close: () => saveBlob(parts, name, type), abort: () => {} };
}

export interface ExportSource {
  // An operation with the parameter `format`, and its other parameters.
  readonly path: string;
  readonly params: Readonly<Record<string, unknown>>;
  // Of the file, without its ending.
  readonly name: string;
  // "Export 204 devices": how many there are, where that is known.
  readonly title: string;
  readonly total?: number | undefined;
  // One more parameter that is chosen in the dialog.
  readonly choice?: { readonly name: string; readonly label: string; readonly options: readonly (readonly [string, string])[] } | undefined;
}

const LARGE_LINES = 20_000;
const LINES_MAX = 200_000;
const NEWLINE = 10;

function countLines(chunk: Uint8Array): number {
  let lines = 0;
  for (const byte of chunk) if (byte === NEWLINE) lines += 1;
  return lines;
}

interface Progress {
  readonly bytes: number;
  readonly lines: number;
  readonly state: "running" | "done" | "too-many";
}

function useExport(address: string, fileName: string, type: string, total: number | undefined) {
  const [progress, setProgress] = useState<Progress | null>(null);
  const [error, setError] = useState<unknown>(null);
  const stopper = useRef<AbortController | null>(null);
  const copy = async (sink: Sink, signal: AbortSignal): Promise<Progress> => {
    const response = await fetchRaw(address, { signal });
    const reader = response.body?.getReader();
    let now: Progress = { bytes: 0, lines: 0, state: "running" };
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done || !value) return { ...now, state: "done" };
      await sink.write(value);
      now = { bytes: now.bytes + value.length, lines: now.lines + countLines(value), state: "running" };
      setProgress(now);
      if (now.lines > LINES_MAX) {
        await reader?.cancel();
        return { ...now, state: "too-many" };
      }
    }
  };
  const run = async () => {
    const stop = new AbortController();
    stopper.current = stop;
    setError(null);
    let sink: Sink | null = null;
    try {
      sink = await openSink(fileName, type, (total ?? 0) > LARGE_LINES);
      setProgress({ bytes: 0, lines: 0, state: "running" });
      const end = await copy(sink, stop.signal);
      await (end.state === "done" ? sink.close() : sink.abort());
      setProgress(end);
    } catch (failure) {
      await sink?.abort();
      setProgress(null);
      if (!(failure instanceof DOMException && failure.name === "AbortError")) setError(failure);
    } finally {
      stopper.current = null;
    }
  };
  return { progress, error, run, stop: () => stopper.current?.abort() };
}

export function ExportDialog({ source, onClose }: { source: ExportSource; onClose: () => void }) {
  const [format, setFormat] = useState<"csv" | "ndjson">("csv");
  const [chosen, setChosen] = useState(source.choice?.options[0]?.[0] ?? "");
  const extra = source.choice ? { [source.choice.name]: chosen } : {};
  const fileName = `${source.choice ? `${source.name}-${chosen}` : source.name}.${format}`;
  const address = `${source.path}${stringifySearch({ ...source.params, ...extra, format })}`;
  const curl = `curl -H "Authorization: Bearer $TOKEN" -o ${fileName} "${SERVICE_URL}${address}"`;
  const { progress, error, run, stop } = useExport(address, fileName, format === "csv" ? "text/csv" : "application/x-ndjson", source.total);
  const isRunning = progress?.state === "running";
  const isTooLarge = (source.total ?? 0) > LINES_MAX || progress?.state === "too-many";
  const words = { running: t("Writing"), done: t("Done"), "too-many": t("Stopped") };
  return (
    <Dialog
      title={source.title}
      onClose={() => {
        stop();
        onClose();
      }}
      actions={
        isRunning ? (
          <Button onClick={stop}>{t("Stop")}</Button>
        ) : (
          <>
            <Button onClick={onClose}>{t("Close")}</Button>
            {!isTooLarge && (
              <Button look="primary" onClick={() => void run()}>
                {t("Export")}
              </Button>
            )}
          </>
        )
      }
    >
      {source.choice && <Select label={source.choice.label} options={source.choice.options} value={chosen} disabled={isRunning} onChange={(event) => setChosen(event.target.value)} />}
      <Select
        label={t("Format")}
        options={[
          ["csv", t("CSVForSpreadsheets")],
          ["ndjson", t("NDJSONOneJSONObjectPerLine")],
        ]}
        value={format}
        disabled={isRunning}
        onChange={(event) => setFormat(event.target.value as "csv" | "ndjson")}
      />
      {isTooLarge && (
        <p role="alert">
          {t.rich("TheseAreMoreThanLINESMAX", { LINES_MAX, code: <code>after</code> })}
        </p>
      )}
      <div className="state-curl">
        <code>{curl}</code> <CopyButton text={curl} />
      </div>
      <p aria-live="polite" className="ink-2">
        {progress && t("valueLinesLinesValue2KB", { value: words[progress.state], lines: progress.lines, value2: Math.ceil(progress.bytes / 1_024) })}
      </p>
      {error !== null && <ErrorState error={error} onRetry={() => void run()} />}
    </Dialog>
  );
}
