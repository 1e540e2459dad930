// Writes many records in batches. Storing is idempotent, so a batch is sent again until the service
// has confirmed it; records that it refuses are kept apart, one by one.
import { ApiError, BadInput, LongwireError, NotAllowed, NotFound, TooLarge } from "./errors.js";
import type * as m from "./models.js";
import { sleep, type Transport } from "./transport.js";

export interface RecordInputs {
  data: m.DeviceDataInput;
  event: m.DeviceEventInput;
  geoloc: m.DeviceGeolocInput;
  telemetry: m.DeviceTelemetryInput;
}
type RecordKind = keyof RecordInputs;

export interface WriterOptions {
  batchRecords?: number;
  /** How long a record waits for others, in seconds. */
  lingerS?: number;
  /** How many records may wait; `write` waits for room beyond that. */
  queueRecords?: number;
  onRejected?: (kind: RecordKind, record: unknown, error: ApiError) => void;
  /** Called for every failure that is retried. */
  onFailure?: (error: LongwireError) => void;
}

/** What becomes of one record. */
export interface Receipt {
  /** Fulfilled when the record is stored, rejected with the error of the service if it is refused. */
  readonly stored: Promise<void>;
}

interface Entry {
  readonly kind: RecordKind;
  readonly record: unknown;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const FAULT = /^items\[(\d+)\](?:\.|$)/;

export class Writer {
  readonly #transport: Transport;
  readonly #options: Required<Omit<WriterOptions, "onRejected" | "onFailure">> & WriterOptions;
  #waiting: Entry[] = [];
  #isFlushing = false;
  #isClosed = false;
  #running: Promise<void> | null = null;
  #wake: () => void = () => undefined;
  #room: (() => void)[] = [];

  constructor(transport: Transport, options: WriterOptions = {}) {
    this.#transport = transport;
    this.#options = { batchRecords: 500, lingerS: 0.2, queueRecords: 10_000, ...options };
  }

  /** How many records wait for the service. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Queue a record; waits while the queue is full. */
  async write<K extends RecordKind>(kind: K, record: RecordInputs[K]): Promise<Receipt> {
    while (this.#waiting.length >= this.#options.queueRecords) await new Promise<void>((resolve) => this.#room.push(resolve));
    if (this.#isClosed) throw new LongwireError("the writer is closed");
    let entry: Entry | undefined;
    const stored = new Promise<void>((resolve, reject) => (entry = { kind, record, resolve, reject }));
    stored.catch(() => undefined); // who does not look at the receipt has `onRejected`
    this.#waiting.push(entry as unknown as Entry);
    if (this.#waiting.length >= this.#options.batchRecords) this.#wake();
    this.#running ??= this.#run().finally(() => (this.#running = null));
    return { stored };
  }

  /** Send what waits now, and wait until the service has it. */
  async flush(): Promise<void> {
    this.#isFlushing = true;
    this.#wake();
    await this.#running;
    this.#isFlushing = false;
  }

  /** Flush, and take no more records. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      if (!this.#isFlushing && this.#waiting.length < this.#options.batchRecords)
        await Promise.race([sleep(this.#options.lingerS), new Promise<void>((resolve) => (this.#wake = resolve))]);
      const kind = this.#waiting[0]?.kind;
      let end = 0;
      while (end < this.#options.batchRecords && this.#waiting[end]?.kind === kind) end += 1;
      await this.#deliver(this.#waiting.slice(0, end));
      this.#waiting.splice(0, end);
      for (const resolve of this.#room.splice(0)) resolve();
    }
  }

  async #deliver(batch: readonly Entry[]): Promise<void> {
    const [first] = batch;
    if (!first) return;
    try {
      const items = batch.map((each) => each.record);
      await this.#post(first.kind, items);
      for (const each of batch) each.resolve();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const refused = new Set(error.faults.map((each) => Number(FAULT.exec(each.field)?.[1] ?? NaN)));
      const isNamed = batch.some((_, index) => refused.has(index));
      if (isNamed || batch.length === 1) {
        const kept = batch.filter((_, index) => isNamed && !refused.has(index));
        for (const [index, each] of batch.entries()) if (!kept.includes(each)) this.#reject(each, restrict(error, index));
        await this.#deliver(kept);
      } else {
        const middle = batch.length >> 1;
        await this.#deliver(batch.slice(0, middle));
        await this.#deliver(batch.slice(middle));
      }
    }
  }

  /** Until the service has the batch, or refuses it for good. */
  async #post(kind: RecordKind, items: readonly unknown[]): Promise<void> {
    for (let failures = 1; ; failures++) {
      try {
        await this.#transport.request({ method: "POST", path: `/device/${kind}/batch`, body: { items }, isRepeatable: true });
        return;
      } catch (error) {
        const isRefused = [BadInput, NotFound, NotAllowed, TooLarge].some((each) => error instanceof each);
        if (!(error instanceof LongwireError) || isRefused) throw error;
        this.#options.onFailure?.(error);
        await sleep(this.#transport.backOff(failures));
      }
    }
  }

  #reject(entry: Entry, error: ApiError): void {
    this.#options.onRejected?.(entry.kind, entry.record, error);
    entry.reject(error);
  }
}

/** The error as it is of one record: only its faults, with the names of its own fields. */
function restrict(error: ApiError, index: number): ApiError {
  const start = `items[${index}].`;
  const own = error.faults.filter((each) => each.field.startsWith(start));
  const faults = own.map((each) => ({ ...each, field: each.field.slice(start.length) }));
  const kind = error.constructor as new (given: ApiError) => ApiError;
  return new kind({ ...error, faults, detail: error.detail } as ApiError);
}
