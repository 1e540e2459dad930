// A form out of the JSON Schema of a connector type: which fields there are, and how their texts
// become parameters and back. Only what such schemas use is understood; anything else is edited
// as JSON, so that a type that is added later can be configured without a new console.
import type { ApiProblem } from "~/api/client";
import { fieldError } from "~/ui/field";
import type { Params } from "./params";
import { t } from "~/messages/connectors";

export type FieldKind = "text" | "secret" | "number" | "flag" | "choice" | "list" | "choices" | "map" | "json";

export interface FormField {
  // `url`, or `basic.username` for a member of an object.
  readonly path: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  readonly description: string;
  readonly choices: readonly string[];
  readonly placeholder: string;
  readonly fallback: unknown;
}

// Texts of fields by path; flags are "true" or "". A map has a line for each member, `name: value`.
export type FormValues = Readonly<Record<string, string>>;

export const MASK = "********";

type Schema = Record<string, unknown>;

const LABELS: Readonly<Record<string, string>> = {
  url: "URL",
  subgroups: t("AlsoGroupsBelow"),
  clientId: t("ClientId"),
  tls: t("EncryptedConnectionTLS"),
  bearer: t("BearerToken"),
  secret: t("SigningSecret"),
  previousSecret: t("PreviousSigningSecret"),
  previousSecretUntil: t("PreviousSigningSecretEnds"),
  storeResponses: t("KeepResponsesOf"),
  batch: t("RecordsPerRequest"),
  template: t("Template"),
  "proxy.url": t("Proxy"),
  "proxy.username": t("ProxyUserName"),
  "proxy.password": t("ProxyPassword"),
};

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function labelOf(name: string): string {
  const known = LABELS[name];
  if (known) return known;
  const words = name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// The schema itself: without `null` as an alternative, and what a reference names.
function resolve(schema: Schema, root: Schema): Schema {
  const alternatives = Array.isArray(schema.anyOf) ? schema.anyOf.filter(isObject).filter((each) => each.type !== "null") : [];
  const [only] = alternatives;
  const isList = alternatives.some((each) => each.type === "array");
  let found: Schema = schema;
  if (alternatives.length === 1 && only) found = { ...schema, ...only };
  else if (isList) found = { ...schema, type: "array" };
  const reference = typeof found.$ref === "string" ? found.$ref.replace("#/$defs/", "") : null;
  const definitions = isObject(root.$defs) ? root.$defs : {};
  const target = reference ? definitions[reference] : undefined;
  return isObject(target) ? { ...found, ...target } : found;
}

function kindOf(schema: Schema): FieldKind {
  if (Array.isArray(schema.enum)) return "choice";
  if (schema.type === "boolean") return "flag";
  if (schema.type === "integer" || schema.type === "number") return "number";
  if (schema.type === "array") return isObject(schema.items) && Array.isArray(schema.items.enum) ? "choices" : "list";
  if (schema.type === "object" && isObject(schema.additionalProperties)) return "map";
  if (schema.type === "string") return schema.format === "password" ? "secret" : "text";
  return "json";
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function fieldOf(path: string, schema: Schema, isRequired: boolean): FormField {
  const kind = kindOf(schema);
  const [example] = Array.isArray(schema.examples) ? schema.examples : [];
  const members = isObject(schema.additionalProperties) ? schema.additionalProperties : {};
  const chosenFrom = kind === "choices" && isObject(schema.items) ? schema.items.enum : schema.enum;
  return {
    path,
    label: LABELS[path] ?? labelOf(path.split(".").pop() ?? path),
    kind,
    isRequired,
    isSecret: kind === "secret" || members.format === "password",
    description: text(schema.description),
    choices: Array.isArray(chosenFrom) ? chosenFrom.map(String) : [],
    placeholder: kind === "text" ? text(example) : "",
    fallback: schema.default ?? null,
  };
}

// Required fields first, then as the schema has them.
export function fieldsOf(schemaText: string): FormField[] {
  let root: unknown = null;
  try {
    root = JSON.parse(schemaText);
  } catch {
    // Without a schema there are no fields; the type is unknown to this service.
  }
  if (!isObject(root) || !isObject(root.properties)) return [];
  const fields: FormField[] = [];
  const add = (prefix: string, owner: Schema, isOwnerRequired: boolean) => {
    const required = Array.isArray(owner.required) ? owner.required : [];
    for (const [name, raw] of Object.entries(isObject(owner.properties) ? owner.properties : {})) {
      const schema = resolve(isObject(raw) ? raw : {}, root as Schema);
      const isRequired = isOwnerRequired && required.includes(name);
      if (schema.type === "object" && isObject(schema.properties)) add(`${prefix}${name}.`, schema, isRequired);
      else fields.push(fieldOf(`${prefix}${name}`, schema, isRequired));
    }
  };
  add("", root, true);
  return [...fields.filter((each) => each.isRequired), ...fields.filter((each) => !each.isRequired)];
}

function at(params: Params, path: string): unknown {
  let value: unknown = params;
  for (const name of path.split(".")) value = isObject(value) ? value[name] : undefined;
  return value;
}

export function mapLines(value: Schema): string {
  return Object.entries(value)
    .map(([name, each]) => `${name}: ${String(each)}`)
    .join("\n");
}

export function parseMapLines(lines: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of lines.split("\n")) {
    const colon = line.indexOf(":");
    const name = (colon < 0 ? line : line.slice(0, colon)).trim();
    if (name) found[name] = colon < 0 ? "" : line.slice(colon + 1).trim();
  }
  return found;
}

// Secrets are masked: the mask travels back and keeps what is stored.
export function valuesOf(fields: readonly FormField[], params: Params): FormValues {
  const values: Record<string, string> = {};
  for (const field of fields) {
    const value = at(params, field.path);
    if (value === undefined || value === null) values[field.path] = field.kind === "flag" && field.fallback === true ? "true" : "";
    else if (field.kind === "flag") values[field.path] = value === true ? "true" : "";
    else if (field.kind === "list" || field.kind === "choices") values[field.path] = Array.isArray(value) ? value.join(", ") : String(value);
    else if (field.kind === "map" && isObject(value))
      values[field.path] = mapLines(field.isSecret ? Object.fromEntries(Object.keys(value).map((name) => [name, MASK])) : value);
    else if (field.kind === "secret") values[field.path] = MASK;
    else values[field.path] = typeof value === "object" ? JSON.stringify(value) : String(value);
  }
  return values;
}

function parsed(field: FormField, value: string): unknown {
  if (field.kind === "flag") return value === "true";
  if (field.kind === "map") return parseMapLines(value);
  if (field.kind === "list" || field.kind === "choices") return value.split(/[,\s]+/).filter(Boolean);
  if (field.kind === "number") return Number.isFinite(Number(value)) ? Number(value) : value;
  if (field.kind !== "json") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

// What is empty, or as it is without saying so, is left out. What is not valid goes along as it
// is: the service names every field that is wrong.
export function paramsOf(fields: readonly FormField[], values: FormValues): Params {
  const params: Record<string, unknown> = {};
  for (const field of fields) {
    const value = (values[field.path] ?? "").trim();
    const isDefaultFlag = field.kind === "flag" && (value === "true") === (field.fallback === true);
    if (isDefaultFlag || (value === "" && field.kind !== "flag")) continue;
    if (field.kind === "choice" && value === field.fallback) continue;
    const names = field.path.split(".");
    let owner = params;
    for (const name of names.slice(0, -1)) owner = (owner[name] ??= {}) as Record<string, unknown>;
    owner[names[names.length - 1] ?? ""] = parsed(field, value);
  }
  return params;
}

// The names of fields in errors of the service, and those of the objects that they are in.
export function paramNames(fields: readonly FormField[]): string[] {
  return [...new Set(fields.flatMap(({ path }) => [path, objectOf(path)].filter(Boolean)))].map((each) => `params.${each}`);
}

function objectOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(".")));
}

// What is wrong with a field. What is wrong with an object is shown at the first of its fields.
export function paramError(problem: ApiProblem | null, fields: readonly FormField[], field: FormField): string | undefined {
  const error = fieldError(problem, `params.${field.path}`);
  const object = objectOf(field.path);
  if (error || !object || fields.find((each) => each.path.startsWith(`${object}.`)) !== field) return error;
  return problem?.fields.find((each) => each.field === `params.${object}`)?.message;
}
