// Everything that the filter matches, not what is loaded: streamed into a file, and stoppable.
import { useRef, useState } from "react";
import { fetchRaw, type Schemas } from "~/api/client";
import { stringifySearch } from "~/search";
import { Button } from "~/ui/button";
import { CopyButton } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { Select } from "~/ui/field";
import { ErrorState } from "~/ui/state";
import { countOf } from "./bulk";
import { devicesCsv } from "./csv";
import { filterOf, type DevicesSearch } from "./search";

export function saveBlob(parts: BlobPart[], name: string, type: string): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

// The selected devices, which the page has already.
export function exportSelected(devices: readonly Schemas["Device"][]): void {
  saveBlob([devicesCsv(devices)], "devices.csv", "text/csv");
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

export interface ExportJob {
  path: string;
  params: Record<string, unknown>;
  name: string;
  total: number;
  totalIsMore: boolean;
  noun: string;
}

const LARGE_ROWS = 20_000;
const NEWLINE = 10;

function countLines(chunk: Uint8Array): number {
  let lines = 0;
  for (const byte of chunk) if (byte === NEWLINE) lines += 1;
  return lines;
}

export function ExportBox({ job, onClose }: { job: ExportJob; onClose: () => void }) {
  const [format, setFormat] = useState<"csv" | "ndjson">("csv");
  const [progress, setProgress] = useState<{ bytes: number; lines: number } | null>(null);
  const [isDone, setDone] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const stopper = useRef<AbortController | null>(null);
  const address = `${job.path}${stringifySearch({ ...job.params, format })}`;
  const curl = `curl -H "Authorization: Bearer $TOKEN" -o ${job.name}.${format} "${location.origin}${address}"`;
  const run = async () => {
    const stop = new AbortController();
    stopper.current = stop;
    setError(null);
    setDone(false);
    let sink: Sink | null = null;
    try {
      sink = await openSink(`${job.name}.${format}`, format === "csv" ? "text/csv" : "application/x-ndjson", job.total > LARGE_ROWS);
      setProgress({ bytes: 0, lines: 0 });
      const response = await fetchRaw(address, { signal: stop.signal });
      const reader = response.body?.getReader();
      let bytes = 0;
      let lines = 0;
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
        if (done || !value) break;
        await sink.write(value);
        bytes += value.length;
        lines += countLines(value);
        setProgress({ bytes, lines });
      }
      await sink.close();
      setDone(true);
    } catch (failure) {
      await sink?.abort();
      setProgress(null);
      if (!(failure instanceof DOMException && failure.name === "AbortError")) setError(failure);
    } finally {
      stopper.current = null;
    }
  };
  const isRunning = progress !== null && !isDone;
  return (
    <Dialog
      title={`Export ${countOf(job.total, job.noun)}${job.totalIsMore ? " or more" : ""}`}
      onClose={() => {
        stopper.current?.abort();
        onClose();
      }}
      actions={
        isRunning ? (
          <Button onClick={() => stopper.current?.abort()}>Stop</Button>
        ) : (
          <>
            <Button onClick={onClose}>Close</Button>
            {!job.totalIsMore && (
              <Button look="primary" onClick={() => void run()}>
                Export
              </Button>
            )}
          </>
        )
      }
    >
      <Select
        label="Format"
        options={[
          ["csv", "CSV, for spreadsheets"],
          ["ndjson", "NDJSON, one JSON object per line"],
        ]}
        value={format}
        disabled={isRunning}
        onChange={(event) => setFormat(event.target.value as "csv" | "ndjson")}
      />
      {job.totalIsMore && <p>That is too much for a browser. This command writes it to a file, and can be continued with <code>after</code>.</p>}
      <div className="state-curl">
        <code>{curl}</code> <CopyButton text={curl} />
      </div>
      <p aria-live="polite" className="ink-2">
        {progress && `${isDone ? "Done" : "Writing"}: ${progress.lines.toLocaleString("en")} lines, ${Math.ceil(progress.bytes / 1_024).toLocaleString("en")} kB`}
      </p>
      {error !== null && <ErrorState error={error} onRetry={() => void run()} />}
    </Dialog>
  );
}

export function ExportDialog({
  groupId,
  search,
  total,
  totalIsMore,
  onClose,
}: {
  groupId: string;
  search: DevicesSearch;
  total: number;
  totalIsMore: boolean;
  onClose: () => void;
}) {
  const params = { groupId, ...filterOf(search) };
  return <ExportBox job={{ path: "/devices/export", params, name: "devices", total, totalIsMore, noun: "device" }} onClose={onClose} />;
}
