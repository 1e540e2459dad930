// The API, typed by its own OpenAPI document. Every failure is thrown as an ApiProblem.
import createClient from "openapi-fetch";
import { BASE_PATH } from "~/base-path";
import { fetchingOnce } from "./fetch-once";
import type { components, paths } from "./schema";
import { t } from "~/messages/api";

export type Schemas = components["schemas"];

export interface FieldProblem {
  in: string;
  field: string;
  message: string;
}

export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly fields: readonly FieldProblem[];
  readonly requestId: string | null;
  readonly retryAfterS: number | null;

  constructor(given: {
    status: number;
    code: string;
    detail: string;
    fields?: readonly FieldProblem[];
    requestId?: string | null;
    retryAfterS?: number | null;
  }) {
    super(given.detail);
    this.name = "ApiProblem";
    this.status = given.status;
    this.code = given.code;
    this.fields = given.fields ?? [];
    this.requestId = given.requestId ?? null;
    this.retryAfterS = given.retryAfterS ?? null;
  }
}

// The service did not answer: no connection, or one that broke.
export class Unreachable extends Error {
  constructor() {
    super(t("serviceCannotBeReached"));
    this.name = t("Unreachable");
  }
}

type Listener = () => void;
const signedOut = new Set<Listener>();

// Called when a request is refused because the session has ended.
export function onSignedOut(listener: Listener): () => void {
  signedOut.add(listener);
  return () => signedOut.delete(listener);
}

// For whoever learns it otherwise, as the live stream does.
export function reportSignedOut(): void {
  for (const listener of signedOut) listener();
}

const refused = new Set<Listener>();

// Called when a request is refused for want of a right: what the page knows of rights is old.
export function onRefused(listener: Listener): () => void {
  refused.add(listener);
  return () => refused.delete(listener);
}

const ignored = new Set<(names: string) => void>();

// Called with what a request carried and the service does not read: this page is of another version.
export function onIgnored(listener: (names: string) => void): () => void {
  ignored.add(listener);
  return () => ignored.delete(listener);
}

// What only the service's own pages send. Operations that always want it have it as a parameter:
// `params: { header: CONSOLE_HEADERS }`.
export const CONSOLE_HEADERS = { "X-Longwire-Console": "1" } as const;

export const api = createClient<paths>({
  baseUrl: `${BASE_PATH}/`,
  credentials: "same-origin",
  headers: CONSOLE_HEADERS,
  fetch: fetchingOnce((request) => fetch(request)),
});

async function problemOf(response: Response): Promise<ApiProblem> {
  const text = await response.text().catch(() => "");
  return problemFrom(response, text);
}

export function problemFrom(response: Response, text: string): ApiProblem {
  let body: Partial<Schemas["Problem"]> = {};
  try {
    body = JSON.parse(text) as Partial<Schemas["Problem"]>;
  } catch {
    // A proxy in between may answer with a page of its own.
  }
  const retryAfter = Number(response.headers.get("Retry-After"));
  return new ApiProblem({
    status: response.status,
    code: body.code ?? "unexpected_response",
    detail: body.detail ?? t("serviceAnsweredWithStatusStatus", { status: response.status }),
    fields: body.errors ?? [],
    requestId: body.requestId ?? response.headers.get("X-Request-Id"),
    retryAfterS: Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter : null,
  });
}

function noteStatus(problem: ApiProblem): ApiProblem {
  if (problem.status === 401) reportSignedOut();
  if (problem.status === 403) for (const listener of refused) listener();
  return problem;
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

// The body of a successful response: `const page = await read(api.GET("/devices", …))`.
export async function read<T>(answer: Promise<Answer<T>>): Promise<T> {
  let settled: Answer<T>;
  try {
    settled = await answer;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Unreachable();
  }
  if (settled.response.ok) {
    const names = settled.response.headers.get("Longwire-Ignored");
    if (names) for (const listener of ignored) listener(names);
    return settled.data as T;
  }
  const text = JSON.stringify(settled.error ?? {});
  throw noteStatus(problemFrom(settled.response, text));
}

// One thing by its id, of an operation that says 400 where the id is unknown: that is a 404 to a page.
export async function readOne<T>(answer: Promise<Answer<T>>, idField: string): Promise<T> {
  try {
    return await read(answer);
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status !== 400 || !error.fields.some((each) => each.field === idField)) throw error;
    const { code, message: detail, fields, requestId } = error;
    throw new ApiProblem({ status: 404, code, detail, fields, requestId });
  }
}

// For responses that are no JSON, such as exports: the response itself, when it is a success. `path` is
// that of an operation, with its query.
export async function fetchRaw(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...CONSOLE_HEADERS, ...(init.headers as Record<string, string> | undefined) };
  let response: Response;
  try {
    response = await fetch(BASE_PATH + path, { ...init, headers, credentials: "same-origin" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Unreachable();
  }
  if (response.ok) return response;
  throw noteStatus(await problemOf(response));
}
