// Checks that a request comes from a connector: Standard Webhooks 1.0, with Web Crypto.
import { LongwireError } from "./errors.js";

export type RefusalCode = "missing_header" | "bad_timestamp" | "too_old" | "too_new" | "bad_signature";

/** The request is not from the connector, or too old; `code` says which. */
export class WebhookRefused extends LongwireError {
  constructor(
    readonly code: RefusalCode,
    detail: string,
  ) {
    super(`${code}: ${detail}`);
  }
}

type Headers_ = Headers | Record<string, string | string[] | undefined>;

/** Verifies requests, and signs them. While a secret is rotated, give both. */
export class Webhook {
  readonly #keys: Promise<CryptoKey[]>;
  readonly #toleranceS: number;

  constructor(secrets: string | readonly string[], options: { toleranceS?: number } = {}) {
    const given = typeof secrets === "string" ? [secrets] : secrets;
    if (given.length === 0) throw new TypeError("a webhook needs at least one secret");
    const bytes = given.map((each) => fromBase64(each.replace(/^whsec_/, "")));
    const usage = { name: "HMAC", hash: "SHA-256" };
    this.#keys = Promise.all(bytes.map((each) => crypto.subtle.importKey("raw", each, usage, false, ["sign", "verify"])));
    this.#toleranceS = options.toleranceS ?? 300;
  }

  /**
   * The id of the message, which is the same for every attempt; or WebhookRefused. `body` is what
   * was received, byte by byte; do not encode it again.
   */
  async verify(body: string | Uint8Array, headers: Headers_, options: { now?: Date } = {}): Promise<string> {
    const id = header(headers, "webhook-id");
    const timestamp = header(headers, "webhook-timestamp");
    const signatures = header(headers, "webhook-signature").split(" ");
    this.#checkTime(timestamp, (options.now ?? new Date()).getTime() / 1_000);
    const signed = join(id, timestamp, body);
    let isValid = false;
    for (const each of signatures) {
      const [version, signature = ""] = each.split(",", 2);
      for (const key of await this.#keys) {
        // `verify` compares in constant time; every pair is compared.
        const matches = version === "v1" && (await crypto.subtle.verify("HMAC", key, bytesOf(signature), signed));
        isValid ||= matches;
      }
    }
    if (!isValid) throw new WebhookRefused("bad_signature", "no signature was made with a known secret");
    return id;
  }

  /** The headers that a connector would send; with one signature for each secret. */
  async sign(id: string, body: string | Uint8Array, options: { now?: Date } = {}): Promise<Record<string, string>> {
    const timestamp = String(Math.floor((options.now ?? new Date()).getTime() / 1_000));
    const signed = join(id, timestamp, body);
    const made = (await this.#keys).map(async (key) => `v1,${toBase64(await crypto.subtle.sign("HMAC", key, signed))}`);
    return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": (await Promise.all(made)).join(" ") };
  }

  #checkTime(timestamp: string, now: number): void {
    if (!/^\d{1,15}$/.test(timestamp)) throw new WebhookRefused("bad_timestamp", "webhook-timestamp is not a number of seconds");
    const ageS = now - Number(timestamp);
    if (ageS > this.#toleranceS) throw new WebhookRefused("too_old", `it was signed ${Math.round(ageS)} s ago`);
    if (ageS < -this.#toleranceS) throw new WebhookRefused("too_new", `it was signed ${Math.round(-ageS)} s in the future`);
  }
}

function header(headers: Headers_, wanted: string): string {
  const pairs = headers instanceof Headers ? [...headers.entries()] : Object.entries(headers);
  const found = pairs.find(([name]) => name.toLowerCase() === wanted)?.[1];
  if (typeof found !== "string" || !found) throw new WebhookRefused("missing_header", `there is no ${wanted}`);
  return found;
}

function join(id: string, timestamp: string, body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const head = encoder.encode(`${id}.${timestamp}.`);
  const content = typeof body === "string" ? encoder.encode(body) : body;
  const whole = new Uint8Array(head.length + content.length);
  whole.set(head);
  whole.set(content, head.length);
  return whole;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  } catch {
    throw new TypeError("a secret is whsec_ and base64");
  }
}

/** Of a signature that somebody sent, which may be no base64. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  try {
    return fromBase64(text);
  } catch {
    return new Uint8Array();
  }
}

function toBase64(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)));
}
