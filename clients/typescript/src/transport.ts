// Sends requests: with a token, which is renewed, and again where that helps.
import { ApiError, errorOf, InvalidResponse, LongwireError, NotAuthenticated, ResponseLost } from "./errors.js";

/** A date for the service: RFC 3339, seconds or milliseconds since 1970, or a Date. */
export type When = string | number | Date;

/** How often, and after which pauses, a request is sent again. */
export interface Retries {
  readonly attempts: number;
  readonly firstDelayS: number;
  readonly delayMaxS: number;
  /** Who is asked to wait for longer gets the error. */
  readonly retryAfterMaxS: number;
}

export interface ClientOptions {
  clientId?: string;
  clientSecret?: string;
  /** In place of both: a token, or a function that returns one. */
  token?: string | (() => string | Promise<string>);
  /** If another service issues the tokens. */
  authUrl?: string;
  retries?: Partial<Retries>;
  timeoutS?: number;
  headers?: Record<string, string>;
  /** Another implementation of fetch. */
  fetch?: typeof fetch;
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly mediaType?: string;
  /** It may be sent again although nobody knows whether the first one arrived. */
  readonly isRepeatable: boolean;
}

const RETRIES: Retries = { attempts: 5, firstDelayS: 0.25, delayMaxS: 30, retryAfterMaxS: 60 };
const RENEWED_BEFORE_S = 30;

export const sleep = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

export class Transport {
  readonly retries: Retries;
  readonly #url: string;
  readonly #options: ClientOptions;
  readonly #fetch: typeof fetch;
  #token: { value: string; until: number } | null = null;
  #renewing: Promise<string> | null = null;

  constructor(url: string, options: ClientOptions) {
    if (options.token === undefined && !(options.clientId && options.clientSecret))
      throw new TypeError("a client needs clientId and clientSecret, or a token");
    // "localhost:8080" would look like a service that is unreachable.
    for (const each of [url, options.authUrl ?? url])
      if (!/^https?:\/\//i.test(each)) throw new TypeError(`a URL begins with http:// or https://, not ${each}`);
    this.#url = url.replace(/\/+$/, "");
    this.#options = options;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.retries = { ...RETRIES, ...options.retries };
  }

  /** The response of an operation; or a LongwireError. */
  async request<T>(call: Call): Promise<T> {
    const response = await this.send(call);
    try {
      return (await response.json()) as T;
    } catch (error) {
      if (error instanceof SyntaxError) throw new InvalidResponse(`${call.method} ${call.path}: no JSON`, { cause: error });
      throw new ResponseLost(`${call.method} ${call.path}: ${String(error)}`, { cause: error });
    }
  }

  /** The body of a response while it arrives. */
  async *stream(call: Call, headers: Record<string, string> = {}, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
    const response = await this.send(call, headers, signal ?? null);
    if (!response.body) return;
    const reader = response.body.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        yield value;
      }
    } catch (error) {
      throw new ResponseLost(`${call.method} ${call.path}: ${String(error)}`, { cause: error });
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  }

  /** A success; a token that the service refuses is renewed once. `signal` null: no timeout. */
  async send(call: Call, headers: Record<string, string> = {}, signal?: AbortSignal | null): Promise<Response> {
    let mayRenew = true;
    for (let attempt = 1; ; ) {
      const token = await this.#getToken();
      try {
        return await this.#attempt(this.#url, call, { Authorization: `Bearer ${token}`, ...headers }, signal);
      } catch (error) {
        if (error instanceof NotAuthenticated && mayRenew && typeof this.#options.token !== "string") {
          mayRenew = false;
          this.#token = null;
          continue;
        }
        await this.#pause(error, attempt++, call.isRepeatable);
      }
    }
  }

  /** A random pause in seconds that grows with the number of the attempt. */
  backOff(attempt: number): number {
    const longest = Math.min(this.retries.delayMaxS, this.retries.firstDelayS * 2 ** Math.min(attempt - 1, 30));
    return longest * (0.5 + Math.random() / 2);
  }

  async #attempt(url: string, call: Call, headers: Record<string, string>, signal?: AbortSignal | null): Promise<Response> {
    const isJson = call.mediaType === undefined;
    const body = call.body === undefined ? undefined : isJson ? JSON.stringify(call.body) : (call.body as BodyInit);
    const init: RequestInit = {
      method: call.method,
      headers: {
        ...this.#options.headers,
        ...(body === undefined ? {} : { "Content-Type": call.mediaType ?? "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      signal: signal === undefined ? AbortSignal.timeout((this.#options.timeoutS ?? 60) * 1_000) : signal,
    };
    let response: Response;
    let text = "";
    try {
      response = await this.#fetch(url + call.path + queryText(call.query), init);
      if (response.status === 200) {
        const ignored = response.headers.get("Longwire-Ignored");
        if (ignored) console.warn(`longwire ignored ${ignored} of ${call.method} ${call.path}`);
        return response;
      }
      text = await response.text();
    } catch (error) {
      throw new ResponseLost(`${call.method} ${call.path}: ${String(error)}`, { cause: error });
    }
    throw errorOf(response, text);
  }

  /** Wait for the next attempt, or throw the error if there is none. */
  async #pause(error: unknown, attempt: number, isRepeatable: boolean): Promise<void> {
    if (!(error instanceof LongwireError) || !error.isTemporary || attempt >= this.retries.attempts) throw error;
    if (error.mayHaveHappened && !isRepeatable) throw error;
    const asked = error instanceof ApiError ? (error.retryAfterS ?? 0) : 0;
    if (asked > this.retries.retryAfterMaxS) throw error;
    await sleep(Math.max(asked, this.backOff(attempt)));
  }

  async #getToken(): Promise<string> {
    const { token } = this.#options;
    if (typeof token === "string") return token;
    if (typeof token === "function") return token();
    if (this.#token && Date.now() < this.#token.until) return this.#token.value;
    // Others wait for the one that is on its way.
    this.#renewing ??= this.#renew().finally(() => (this.#renewing = null));
    return this.#renewing;
  }

  async #renew(): Promise<string> {
    const { clientId = "", clientSecret = "", authUrl } = this.#options;
    const credentials = [clientId, clientSecret].map(encodeURIComponent).join(":");
    const call: Call = {
      method: "POST",
      path: "/oauth2/token",
      query: { grant_type: "client_credentials" },
      body: "",
      mediaType: "application/x-www-form-urlencoded",
      isRepeatable: true,
    };
    for (let attempt = 1; ; attempt++) {
      try {
        const url = (authUrl ?? this.#url).replace(/\/+$/, "");
        const response = await this.#attempt(url, call, { Authorization: `Basic ${btoa(credentials)}` });
        const issued = (await response.json()) as { access_token: string; expires_in: number };
        const lifetimeS = Math.max(issued.expires_in - RENEWED_BEFORE_S, issued.expires_in / 2);
        this.#token = { value: issued.access_token, until: Date.now() + lifetimeS * 1_000 };
        return issued.access_token;
      } catch (error) {
        await this.#pause(error, attempt, true);
      }
    }
  }
}

function queryText(query: Readonly<Record<string, unknown>> = {}): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined && each !== null) pairs.append(name, each instanceof Date ? each.toISOString() : String(each));
  const text = pairs.toString();
  return text ? `?${text}` : "";
}
