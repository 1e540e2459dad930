import { Live } from "./live.js";
import type { RecordKind } from "./models.js";
import { Nouns } from "./nouns.js";
import { Transport, type ClientOptions } from "./transport.js";
import { Writer, type WriterOptions } from "./writer.js";

export interface LiveOptions {
  subgroups?: boolean;
  deviceId?: string;
  kinds?: readonly RecordKind[];
  /** An expression as of a connector. */
  filter?: string;
  /** What arrived since comes first. */
  lastId?: string;
}

/**
 * A longwire service. Give a client id and its secret, or a token, or a function that returns one.
 * Tokens of clients are requested and renewed as needed. `url` may have a path.
 */
export class Client extends Nouns {
  constructor(url: string, options: ClientOptions) {
    super(new Transport(url, options));
  }

  /** Follow what arrives in up to 20 groups; needs `record.read` in each. */
  live(groupId: string | readonly string[], { lastId, ...options }: LiveOptions = {}): Live {
    const query = { groupId: typeof groupId === "string" ? [groupId] : groupId, ...options };
    return new Live(this.transport, { method: "GET", path: "/live", query, isRepeatable: true }, lastId);
  }

  /** Write many records in batches. */
  writer(options: WriterOptions = {}): Writer {
    return new Writer(this.transport, options);
  }

  /** Any other operation, with JSON values and the names of the API. */
  request<T = unknown>(
    method: string,
    path: string,
    given: { query?: Record<string, unknown>; body?: unknown; isRepeatable?: boolean } = {},
  ): Promise<T> {
    return this.transport.request<T>({ method, path, isRepeatable: method === "GET", ...given });
  }
}
