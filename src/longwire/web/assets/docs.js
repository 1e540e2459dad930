// The API documentation page: loads /openapi.json, shows its operations, and sends requests.
//
// All text of the document and of responses is inserted by `element`, as text. Nothing is parsed as
// HTML, so no description and no response can run as script. Token and credentials are stored in
// their input fields only.

// Of the service, which a proxy may serve below a path.
const BASE_URL = location.origin + location.pathname.replace(/\/docs$/, "");
const DOCUMENT_URL = "openapi.json";
const TOKEN_URL = "oauth2/token?grant_type=client_credentials";
const METHODS = ["get", "post", "put", "patch", "delete", "head", "options", "trace"];
const SKIP_LINK = "#content"; // an anchor of the page, not an operation
const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";

const NESTING_MAX = 12; // levels of a schema; deeper ones are named, not expanded
const REQUEST_TIMEOUT_MS = 60_000;
const SHOWN_BODY_CHARS_MAX = 200_000; // a longer response would freeze the page

const byId = (id) => document.getElementById(id);
const page = {
    menu: byId("menu"),
    title: byId("title"),
    version: byId("version"),
    navigation: byId("navigation"),
    search: byId("search"),
    found: byId("found"),
    operations: byId("operations"),
    accessState: byId("access-state"),
    credentials: byId("credentials"),
    clientId: byId("client-id"),
    clientSecret: byId("client-secret"),
    credentialsOutcome: byId("credentials-outcome"),
    token: byId("token"),
    operation: byId("operation"),
};

let api = {}; // the document, once loaded
let operations = []; // its operations, in the order they are listed
const articles = new Map(); // operation id -> its article, cached, so that form input is kept

// --- Loading and navigation ----------------------------------------------------------------------

async function start() {
    try {
        api = await loadDocument();
        operations = operationsOf(api);
        showTitle();
        showNavigation();
        showChosen();
    } catch (error) {
        console.error(error); // the page shows the message, the console the stack
        showLoadingFailed(error);
    }
}

async function loadDocument() {
    const response = await fetch(DOCUMENT_URL, { credentials: "omit", cache: "no-cache" }).catch(
        () => {
            throw new Error("The service did not respond.");
        },
    );
    if (!response.ok)
        throw new Error(`The service responded ${response.status} ${response.statusText}.`);
    const loaded = await response.json().catch(() => {
        throw new Error("The response is not JSON.");
    });
    if (!loaded?.openapi?.startsWith?.("3."))
        throw new Error("The response is not an OpenAPI 3 document.");
    return loaded;
}

function showLoadingFailed(error) {
    const retry = element("button", { type: "button" }, "Retry");
    retry.addEventListener("click", start);
    page.operation.replaceChildren(
        element(
            "div",
            { class: "alert", role: "alert" },
            element("h1", {}, "The API document could not be loaded"),
            element(
                "p",
                {},
                `${error.message} It is expected at `,
                element("code", {}, DOCUMENT_URL),
                ".",
            ),
            retry,
        ),
    );
}

function operationsOf({ paths = {}, tags = [] }) {
    const listed = Object.entries(paths).flatMap(([path, item]) =>
        METHODS.filter((method) => item[method]).map((method) => operationOf(path, method, item)),
    );
    const order = [...new Set([...tags.map((tag) => tag.name), ...listed.map((each) => each.tag)])];
    return listed.sort((one, other) => order.indexOf(one.tag) - order.indexOf(other.tag));
}

function operationOf(path, method, item) {
    const spec = item[method];
    const id = spec.operationId ?? `${method}${path.replace(/\W+/g, "-")}`;
    const tag = spec.tags?.[0] ?? "Other";
    const permission = wordsOf(spec["x-permission"]);
    const searched = [method, path, id, tag, spec.summary, permission].join(" ").toLowerCase();
    const parameters = mergedParameters(item.parameters, spec.parameters);
    return { id, tag, path, method, spec, parameters, permission, searched };
}

/** A parameter of an operation overrides that of its path with the same name and location. */
function mergedParameters(shared = [], own = []) {
    const merged = new Map();
    for (const parameter of [...shared, ...own].map((each) => resolved(each))) {
        merged.set(`${parameter.in} ${parameter.name}`, parameter);
    }
    return [...merged.values()];
}

function listen() {
    window.addEventListener("hashchange", () => {
        if (location.hash !== SKIP_LINK) showChosen();
        closeMenu();
    });
    page.search.addEventListener("input", filterNavigation);
    page.menu.addEventListener("click", () => {
        const isOpen = page.navigation.classList.toggle("open");
        page.menu.setAttribute("aria-expanded", String(isOpen));
        if (isOpen) page.search.focus();
    });
    document.addEventListener("keydown", (event) => {
        const isTyping = event.target.closest("input, textarea, select");
        if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
            event.preventDefault();
            page.search.focus();
        }
        if (event.key === "Escape" && page.navigation.classList.contains("open")) {
            closeMenu();
            page.menu.focus();
        }
    });
    page.credentials.addEventListener("submit", (event) => {
        event.preventDefault();
        obtainToken();
    });
    page.token.addEventListener("input", showAccessState);
}

function closeMenu() {
    page.navigation.classList.remove("open");
    page.menu.setAttribute("aria-expanded", "false");
}

function showTitle() {
    page.title.textContent = api.info?.title ?? "Interface";
    page.version.textContent = api.info?.version ?? "";
}

function showNavigation() {
    page.operations.replaceChildren(
        ...byTag().map(([tag, members]) => navigationGroup(tag, members)),
    );
    filterNavigation();
}

function byTag() {
    const groups = new Map();
    for (const operation of operations) {
        groups.set(operation.tag, [...(groups.get(operation.tag) ?? []), operation]);
    }
    return [...groups];
}

function navigationGroup(tag, members) {
    return element(
        "section",
        {},
        element("h2", {}, tag),
        element(
            "ul",
            {},
            ...members.map((operation) => element("li", {}, navigationLink(operation))),
        ),
    );
}

function navigationLink(operation) {
    return element(
        "a",
        { href: linkTo(operation), "data-operation": operation.id, title: operation.spec.summary },
        badge(operation.method),
        element("span", { class: "path" }, ...breakable(operation.path)),
    );
}

function filterNavigation() {
    const words = page.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = new Set(
        operations
            .filter(({ searched }) => words.every((word) => searched.includes(word)))
            .map(({ id }) => id),
    );
    for (const link of page.operations.querySelectorAll("a")) {
        link.parentElement.hidden = !found.has(link.dataset.operation);
    }
    for (const group of page.operations.children) {
        group.hidden = !group.querySelector("li:not([hidden])");
    }
    const all = operations.length;
    page.found.textContent = words.length
        ? `${found.size} of ${all} operations`
        : `${all} operations`;
}

function showChosen() {
    if (!api.openapi) return; // still loading; `start` shows the choice when it is there
    const id = location.hash === SKIP_LINK ? "" : decodedHash();
    const operation = operations.find((each) => each.id === id);
    markCurrent(operation);
    const shown = operation ? articleOf(operation) : overview(id);
    page.operation.replaceChildren(shown);
    document.title = [operation?.spec.summary ?? operation?.path, api.info?.title]
        .filter(Boolean)
        .join(" · ");
    window.scrollTo(0, 0);
    if (id) shown.querySelector("h1").focus({ preventScroll: true });
}

function decodedHash() {
    try {
        return decodeURIComponent(location.hash.slice(1));
    } catch {
        return location.hash.slice(1); // not valid percent-encoding, so not an operation
    }
}

function markCurrent(operation) {
    for (const link of page.operations.querySelectorAll("a")) {
        const isCurrent = link.dataset.operation === operation?.id;
        if (isCurrent) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
        if (isCurrent) link.scrollIntoView({ block: "nearest" });
    }
}

// --- An operation --------------------------------------------------------------------------------

function overview(unknownId) {
    return element(
        "article",
        {},
        heading(api.info?.title ?? "Interface"),
        unknownId &&
            element(
                "p",
                { class: "alert", role: "alert" },
                `There is no operation “${unknownId}”.`,
            ),
        ...prose(api.info?.description),
        ...byTag().flatMap(([tag, members]) => [
            element("h2", {}, tag),
            ...prose(api.tags?.find((each) => each.name === tag)?.description),
            table(["Operation", "Summary", "Permission"], members.map(overviewRow)),
        ]),
    );
}

function overviewRow(operation) {
    const link = element(
        "a",
        { href: linkTo(operation), class: "operation-link" },
        badge(operation.method),
        element("code", {}, ...breakable(operation.path)),
    );
    return [link, operation.spec.summary, code(operation.permission)];
}

function articleOf(operation) {
    if (!articles.has(operation.id)) articles.set(operation.id, article(operation));
    return articles.get(operation.id);
}

function article(operation) {
    const { spec, method, path, parameters } = operation;
    return element(
        "article",
        {},
        element("p", { class: "crumb muted" }, operation.tag),
        heading(spec.summary ?? `${method.toUpperCase()} ${path}`),
        element(
            "p",
            { class: "request-line" },
            badge(method),
            element("code", {}, ...breakable(path)),
            element(
                "a",
                { href: linkTo(operation), class: "muted", "aria-label": "Link to this operation" },
                "#",
            ),
            spec.deprecated && element("span", { class: "tag" }, "deprecated"),
        ),
        ...prose(spec.description),
        rules(operation),
        ...(parameters.length ? [element("h2", {}, "Parameters"), parameterTable(parameters)] : []),
        ...bodySection(resolved(spec.requestBody)),
        ...tryIt(operation),
        ...responsesSection(spec.responses),
    );
}

/** Access: permission, object rule and authorization. */
function rules(operation) {
    const objectRule = wordsOf(operation.spec["x-object-rule"]);
    const authorization = { bearer: "access token", basic: "client id and secret", none: "none" };
    const isOfGroup = (operation.spec.security ?? []).some((each) => "groupToken" in each);
    return element(
        "dl",
        { class: "rules" },
        ...definition("Permission", code(operation.permission) ?? "none"),
        ...(objectRule ? definition("Object rule", ...inline(objectRule)) : []),
        ...definition(
            "Authorization",
            isOfGroup ? "token of a group" : authorization[schemeOf(operation)],
        ),
    );
}

/** The authentication scheme of an operation: "bearer", "basic" or "none". */
function schemeOf({ spec }) {
    const security = spec.security ?? api.security ?? [];
    const names = security.flatMap((alternative) => Object.keys(alternative));
    if (!names.length) return "none";
    const schemes = names.map((name) => resolved(api.components?.securitySchemes?.[name]));
    return schemes.every((scheme) => scheme?.scheme?.toLowerCase() === "basic")
        ? "basic"
        : "bearer";
}

function parameterTable(parameters) {
    return table(
        ["Name", "In", "Type", "Required", "Description", "Example"],
        parameters.map((parameter) => {
            const schema = schemaOf(parameter);
            return [
                strongCode(parameter.name),
                parameter.in,
                typeCell(schema),
                requiredCell(parameter.required),
                descriptionCell(parameter.description ?? resolved(schema)?.description, schema),
                code(asText(parameterExample(parameter))),
            ];
        }),
    );
}

function bodySection(body) {
    if (!body) return [];
    const note = body.required ? "required" : "optional";
    return [
        element("h2", {}, "Request body ", element("small", { class: "muted" }, note)),
        ...prose(body.description),
        ...Object.entries(body.content ?? {}).flatMap(([type, media]) => [
            element("p", { class: "muted" }, type),
            ...schemaSection(media.schema),
            ...exampleSection(exampleText(type, media, "request")),
        ]),
    ];
}

function responsesSection(responses = {}) {
    return [
        element("h2", {}, "Responses"),
        ...Object.entries(responses).map(([status, response]) =>
            responseDetails(status, resolved(response)),
        ),
    ];
}

function responseDetails(status, response) {
    const contents = Object.entries(response.content ?? {});
    const headers = Object.entries(response.headers ?? {});
    const isSuccess = status.startsWith("2") || status === "default";
    const title = [statusBadge(status), element("span", {}, ...inline(response.description ?? ""))];
    // Without content and headers there is nothing to expand.
    if (!contents.length && !headers.length)
        return element("p", { class: "response bare" }, ...title);
    return element(
        "details",
        { class: "response", open: isSuccess },
        element("summary", {}, ...title),
        headers.length > 0 && headerTable(headers),
        ...contents.flatMap(([type, media]) => [
            element("p", { class: "muted" }, type),
            ...schemaSection(media.schema),
            ...exampleSection(exampleText(type, media, "response")),
        ]),
    );
}

function headerTable(headers) {
    return table(
        ["Header", "Type", "Description"],
        headers.map(([name, header]) => {
            const { schema, description } = resolved(header);
            return [strongCode(name), typeCell(schema), descriptionCell(description, schema)];
        }),
    );
}

function schemaSection(schema) {
    if (schema === undefined) return [];
    const rows = fieldRows(schema);
    const type = element("p", {}, "Type: ", typeCell(schema));
    if (!rows.length) return [type, ...prose(resolved(schema)?.description)];
    return [type, table(["Field", "Type", "Required", "Description"], rows)];
}

function exampleSection(text) {
    if (!text) return [];
    return [
        element(
            "details",
            { class: "example" },
            element("summary", {}, "Example"),
            element("pre", { tabindex: "0" }, text),
        ),
    ];
}

// --- Schemas -------------------------------------------------------------------------------------

/** The target of a $ref. Siblings of the $ref, such as a description, override the target's. */
function resolved(node, followed = []) {
    if (!node?.$ref || followed.includes(node.$ref)) return node;
    const { $ref, ...beside } = node;
    const target = $ref.startsWith("#/")
        ? $ref.slice(2).split("/").map(pointerWord).reduce(stepInto, api)
        : undefined;
    return { ...resolved(target, [...followed, $ref]), ...beside };
}

const pointerWord = (word) => decodeURIComponent(word).replaceAll("~1", "/").replaceAll("~0", "~");
const stepInto = (node, word) => node?.[word];

const refName = (schema) => schema?.$ref && pointerWord(schema.$ref.split("/").at(-1));

/** One schema with its $ref resolved and its allOf merged. */
function flattened(schema, seen = []) {
    const whole = resolved(schema) ?? {};
    if (!whole.allOf || seen.includes(whole.allOf)) return whole;
    const { allOf, ...own } = whole;
    return [...allOf.map((part) => flattened(part, [...seen, allOf])), own].reduce((sum, part) => ({
        ...sum,
        ...part,
        properties: { ...sum.properties, ...part.properties },
        required: [...(sum.required ?? []), ...(part.required ?? [])],
    }));
}

/** The alternatives of a value without "null": one, unless there is a real choice. */
function variantsOf(schema) {
    const whole = flattened(schema);
    const choices = whole.anyOf ?? whole.oneOf;
    if (!choices) return [schema];
    return choices.filter((choice) => flattened(choice).type !== "null");
}

function isNullable(schema, depth = 0) {
    const whole = flattened(schema);
    const choices = depth > NESTING_MAX ? [] : (whole.anyOf ?? whole.oneOf ?? []);
    return (
        [whole.type].flat().includes("null") ||
        choices.some((choice) => isNullable(choice, depth + 1))
    );
}

/** The name of a type: "array of Device", "string (date-time)", "integer or string". */
function typeName(schema, depth = 0) {
    const variants = variantsOf(schema);
    if (depth > NESTING_MAX) return "…";
    // Nested choices go by their name, because a recursive one would not end.
    if (variants[0] !== schema && depth > 0 && refName(schema)) return refName(schema);
    if (variants.length !== 1 || variants[0] !== schema) {
        return [...new Set(variants.map((variant) => typeName(variant, depth + 1)))].join(" or ");
    }
    const whole = flattened(schema);
    const types = [whole.type ?? impliedType(whole)].flat().filter((type) => type !== "null");
    if (types.includes("array")) return `array of ${typeName(whole.items ?? {}, depth + 1)}`;
    if (types.includes("object") && refName(schema)) return refName(schema);
    return types.join(" or ") + (whole.format ? ` (${whole.format})` : "");
}

function impliedType(schema) {
    if (schema.properties) return "object";
    if (schema.const !== undefined) return typeof schema.const;
    if (schema.enum)
        return [...new Set(schema.enum.map((value) => (value === null ? "null" : typeof value)))];
    return schema.items ? "array" : "any";
}

/**
 * Every field of a schema as a table row, nested ones under their dotted name: `items[].name`.
 * The service's own errors name fields the same way.
 */
function fieldRows(schema, prefix = "", ancestors = []) {
    const name = refName(schema);
    // A recursive schema is named in the type column, not expanded again.
    if ((name && ancestors.includes(name)) || ancestors.length > NESTING_MAX) return [];
    const within = [...ancestors, name ?? ""];
    const variants = variantsOf(schema);
    if (variants[0] === schema) return ownRows(flattened(schema), prefix, within);
    return variants.flatMap((variant, at) => {
        const rows = fieldRows(variant, prefix, within);
        const title = `choice ${at + 1} of ${variants.length}: ${typeName(variant)}`;
        return variants.length > 1 && rows.length
            ? [choiceRow(prefix, title, variant), ...rows]
            : rows;
    });
}

function ownRows(whole, prefix, ancestors) {
    if (whole.items) return fieldRows(whole.items, `${prefix}[]`, ancestors);
    return propertiesOf(whole).flatMap(([field, inner, isRequired]) => [
        fieldRow(prefix && `${prefix}.`, field, inner, isRequired),
        ...fieldRows(inner, prefix ? `${prefix}.${field}` : field, ancestors),
    ]);
}

function choiceRow(prefix, title, variant) {
    const description = descriptionCell(flattened(variant).description, {});
    return [code(prefix), element("i", {}, title), null, description];
}

function propertiesOf({ properties = {}, required = [], additionalProperties }) {
    const named = Object.entries(properties).map(([field, inner]) => [
        field,
        inner,
        required.includes(field),
    ]);
    const isOpen = additionalProperties && typeof additionalProperties === "object";
    return isOpen ? [...named, ["(any name)", additionalProperties, false]] : named;
}

function fieldRow(prefix, field, schema, isRequired) {
    return [
        element(
            "code",
            {},
            element("span", { class: "muted" }, ...breakable(prefix)),
            element("b", {}, field),
        ),
        typeCell(schema),
        requiredCell(isRequired),
        descriptionCell(flattened(schema).description, schema),
    ];
}

/** The constraints of a value, as text. */
function constraintsOf(schema) {
    const whole = { ...flattened(schema), ...flattened(variantsOf(schema)[0]) };
    return [
        range(whole.minimum, whole.maximum, ""),
        whole.exclusiveMinimum !== undefined && `above ${whole.exclusiveMinimum}`,
        whole.exclusiveMaximum !== undefined && `below ${whole.exclusiveMaximum}`,
        whole.multipleOf !== undefined && `multiple of ${whole.multipleOf}`,
        range(whole.minLength, whole.maxLength, " characters"),
        range(whole.minItems, whole.maxItems, " items"),
        whole.uniqueItems && "unique items",
        whole.pattern && `pattern ${whole.pattern}`,
        whole.default !== undefined && `default ${JSON.stringify(whole.default)}`,
        whole.const !== undefined && `always ${JSON.stringify(whole.const)}`,
        whole.readOnly && "only in responses",
        whole.writeOnly && "only in requests",
        whole.deprecated && "deprecated",
    ].filter(Boolean);
}

function range(low, high, unit) {
    if (low === undefined && high === undefined) return null;
    if (high === undefined) return `at least ${low}${unit}`;
    return low === undefined ? `at most ${high}${unit}` : `${low} to ${high}${unit}`;
}

function wordsAllowed(schema, depth = 0) {
    const whole = flattened(variantsOf(schema)[0]);
    if (whole.enum || !whole.items || depth > NESTING_MAX) return whole.enum ?? [];
    return wordsAllowed(whole.items, depth + 1);
}

const schemaOf = (parameter) =>
    parameter.schema ?? Object.values(parameter.content ?? {})[0]?.schema ?? {};

// --- Examples ------------------------------------------------------------------------------------

const SAMPLES = {
    "date-time": "2026-01-31T12:00:00.000Z",
    date: "2026-01-31",
    uuid: "6f1c2a34-5b7d-4e8f-9a01-23456789abcd",
    email: "someone@example.org",
    uri: "/somewhere",
};

function exampleText(type, media, direction) {
    const value =
        givenExample(media) ??
        (media.schema === undefined ? undefined : sample(media.schema, direction));
    if (value === undefined) return "";
    if (type === FORM_TYPE && typeof value === "object")
        return new URLSearchParams(value).toString();
    return typeof value === "string" && !type.includes("json")
        ? value
        : JSON.stringify(value, null, 2);
}

function givenExample({ example, examples }) {
    if (example !== undefined) return example;
    const [first] = Object.values(examples ?? {}); // a list in a schema, a map elsewhere
    return Array.isArray(examples) ? first : resolved(first)?.value;
}

function parameterExample(parameter) {
    const schema = flattened(schemaOf(parameter));
    return givenExample(parameter) ?? givenExample(schema) ?? schema.default;
}

/** A valid value, for a "request" or a "response". */
function sample(schema, direction, ancestors = []) {
    const name = refName(schema);
    if ((name && ancestors.includes(name)) || ancestors.length > NESTING_MAX) return undefined;
    const within = [...ancestors, name ?? ""];
    const whole = flattened(schema);
    const given = givenExample(whole) ?? whole.default ?? whole.const ?? whole.enum?.[0];
    if (given !== undefined) return given;
    const [variant = {}] = variantsOf(schema);
    if (variant !== schema) return sample(variant, direction, within);
    const [type] = [whole.type ?? impliedType(whole)].flat();
    if (type === "object") return sampleObject(whole, direction, within);
    if (type === "array") return sampleList(whole, direction, within);
    if (type === "integer" || type === "number") return whole.minimum ?? 0;
    if (type === "boolean") return true;
    if (type === "null") return null;
    return SAMPLES[whole.format] ?? "string";
}

function sampleList(whole, direction, ancestors) {
    const item = sample(whole.items ?? {}, direction, ancestors);
    return item === undefined ? [] : [item];
}

function sampleObject(whole, direction, ancestors) {
    const hidden = direction === "request" ? "readOnly" : "writeOnly";
    const fields = Object.entries(whole.properties ?? {}).filter(
        ([, inner]) => !flattened(inner)[hidden],
    );
    return Object.fromEntries(
        fields
            .map(([field, inner]) => [field, sample(inner, direction, ancestors)])
            .filter(([, value]) => value !== undefined),
    );
}

// --- Try it --------------------------------------------------------------------------------------

function tryIt(operation) {
    const inputs = operation.parameters
        .filter(isAsked)
        .map((parameter) => parameterInput(operation, parameter));
    const body = bodyInput(operation);
    const curl = element("pre", { class: "curl", tabindex: "0", "aria-label": "curl command" });
    const outcome = element("div", { class: "outcome", role: "status" });
    const send = element("button", { type: "submit" }, "Send");
    const form = element(
        "form",
        { class: "try fields", autocomplete: "off", novalidate: true },
        ...inputs.map(({ field }) => field),
        body?.field,
        element(
            "div",
            { class: "wide actions" },
            send,
            element("span", { class: "muted" }, "Sends a real request to this service."),
        ),
    );
    const request = () => requestOf(operation, inputs, body);
    const showCurl = () => (curl.textContent = curlOf(request()));
    form.addEventListener("input", showCurl);
    form.addEventListener("submit", async (event) => {
        event.preventDefault();
        send.disabled = true;
        outcome.replaceChildren(element("p", { class: "muted" }, "Waiting for the response…"));
        outcome.replaceChildren(...(await sendAndShow(request())));
        send.disabled = false;
    });
    showCurl();
    return [
        element("h2", {}, "Try it"),
        form,
        outcome,
        element("div", { class: "copyable" }, curl, copyButton(curl)),
        curlNote(operation),
    ];
}

/** The Authorization header comes from the token field; scripts cannot set cookie headers. */
const isAsked = (parameter) =>
    parameter.in !== "cookie" && parameter.name.toLowerCase() !== "authorization";

function parameterInput(operation, parameter) {
    const id = `try-${operation.id}-${parameter.in}-${parameter.name}`;
    const schema = schemaOf(parameter);
    const isList = flattened(variantsOf(schema)[0]).type === "array";
    const input = choicesOf(schema, isList)
        ? element(
              "select",
              { id },
              ...["", ...choicesOf(schema, isList)].map((value) =>
                  element("option", { value }, value),
              ),
          )
        : element("input", {
              id,
              type: "text",
              spellcheck: "false",
              autocapitalize: "off",
              placeholder: asText(parameterExample(parameter)),
          });
    const notes = [
        parameter.in,
        parameter.required && "required",
        isList && "separate with commas",
    ];
    const label = element(
        "label",
        { for: id },
        element("code", {}, parameter.name),
        element("span", { class: "muted" }, ` ${notes.filter(Boolean).join(", ")}`),
    );
    return {
        parameter,
        isList,
        field: element("div", {}, label, input),
        read: () => input.value.trim(),
    };
}

function choicesOf(schema, isList) {
    if (isList) return null;
    if (typeName(schema) === "boolean") return ["true", "false"];
    const words = wordsAllowed(schema);
    return words.length ? words.filter((word) => word !== null).map(String) : null;
}

function bodyInput(operation) {
    const contents = resolved(operation.spec.requestBody)?.content;
    if (!contents) return null;
    const type = JSON_TYPE in contents ? JSON_TYPE : Object.keys(contents)[0];
    const id = `try-${operation.id}-body`;
    const text = exampleText(type, contents[type], "request");
    const rows = String(Math.min(Math.max(text.split("\n").length, 3), 18));
    const area = element("textarea", { id, rows, spellcheck: "false", autocapitalize: "off" });
    area.value = text;
    const label = element("label", { for: id }, "Body ", element("span", { class: "muted" }, type));
    return { type, field: element("div", { class: "wide" }, label, area), read: () => area.value };
}

/** The request of a form, for `fetch` and for the curl command. */
function requestOf(operation, inputs, body) {
    let path = operation.path;
    const query = new URLSearchParams();
    const headers = {};
    for (const { parameter, isList, read } of inputs) {
        const value = read();
        if (parameter.in === "path")
            path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
        else if (value === "") continue;
        else if (parameter.in === "header") headers[parameter.name] = value;
        else
            for (const one of queryValues(parameter, isList, value))
                query.append(parameter.name, one);
    }
    const content = body?.read();
    if (content) headers["Content-Type"] = body.type;
    return {
        method: operation.method.toUpperCase(),
        // Concatenated: a path that starts with two slashes must not select another host.
        url: BASE_URL + path + (query.size ? `?${query}` : ""),
        headers,
        body: content || undefined,
        scheme: schemeOf(operation),
    };
}

function queryValues(parameter, isList, value) {
    if (!isList || parameter.explode === false) return [value];
    return value.split(",").map((one) => one.trim());
}

async function sendAndShow({ method, url, headers, body, scheme }) {
    const began = performance.now();
    try {
        const response = await fetch(url, {
            method,
            body,
            headers: { ...headers, ...authorizationFor(scheme) },
            ...FETCH_ALONE,
            signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
        });
        const text = await response.text();
        return responseView(response, text, performance.now() - began);
    } catch (error) {
        return [element("p", { class: "alert" }, failureMessage(error))];
    }
}

// "omit" sends no cookies, and prevents the browser's password dialog on a 401.
const FETCH_ALONE = { credentials: "omit", cache: "no-store", redirect: "follow" };

function authorizationFor(scheme) {
    const token = page.token.value.trim();
    if (scheme === "basic")
        return { Authorization: basic(page.clientId.value, page.clientSecret.value) };
    return scheme === "bearer" && token ? { Authorization: `Bearer ${token}` } : {};
}

function basic(id, secret) {
    const bytes = new TextEncoder().encode(`${id}:${secret}`);
    return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

function failureMessage(error) {
    if (error.name === "TimeoutError")
        return `No response within ${REQUEST_TIMEOUT_MS / 1000} seconds.`;
    return `The request could not be sent: ${error.message}`;
}

function responseView(response, text, took_ms) {
    const headers = [...response.headers];
    const requestId = response.headers.get("x-request-id");
    return [
        element(
            "p",
            { class: "response-line" },
            statusBadge(String(response.status)),
            element("span", {}, response.statusText),
            element("span", { class: "muted" }, `${Math.round(took_ms)} ms`),
            requestId &&
                element(
                    "span",
                    { class: "muted" },
                    "x-request-id ",
                    element("code", {}, requestId),
                ),
        ),
        element(
            "pre",
            { tabindex: "0", "aria-label": "Response body" },
            shownBody(text) || "(no body)",
        ),
        element(
            "details",
            { class: "example" },
            element("summary", {}, "Headers"),
            element(
                "pre",
                { tabindex: "0" },
                headers.map(([name, value]) => `${name}: ${value}`).join("\n"),
            ),
        ),
    ];
}

function shownBody(text) {
    const pretty = indentedJson(text) ?? text;
    if (pretty.length <= SHOWN_BODY_CHARS_MAX) return pretty;
    const left = pretty.length - SHOWN_BODY_CHARS_MAX;
    return `${pretty.slice(0, SHOWN_BODY_CHARS_MAX)}\n… ${left} more characters`;
}

/**
 * JSON with line breaks, its values as they came; null when the text is not JSON.
 * JSON.stringify would round integers above 2^53, and the service sends 64-bit ones.
 */
function indentedJson(text) {
    try {
        JSON.parse(text);
    } catch {
        return null;
    }
    let depth = 0;
    const newline = () => `\n${"  ".repeat(depth)}`;
    return text.replace(/"(?:\\.|[^"\\])*"|[[{]\s*[\]}]|[[\]{},:]|\s+/g, (token) => {
        if (token.trim() === "") return "";
        if (/^[[{]\s*[\]}]$/.test(token)) return token[0] + token.at(-1);
        if (token === "{" || token === "[") return (depth++, token + newline());
        if (token === "}" || token === "]") return (depth--, newline() + token);
        if (token === ",") return token + newline();
        return token === ":" ? ": " : token;
    });
}

// Uses shell variables, so that no secret gets into the clipboard or the shell's history.
function curlOf({ method, url, headers, body, scheme }) {
    const said = {
        bearer: ['-H "Authorization: Bearer $TOKEN"'],
        basic: ['-u "$CLIENT_ID:$CLIENT_SECRET"'],
        none: [],
    };
    return [
        `curl -X ${method} ${quoted(url)}`,
        ...said[scheme],
        ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
        ...(body ? [`--data-raw ${quoted(body)}`] : []),
    ].join(" \\\n  ");
}

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

function curlNote(operation) {
    const variables = { bearer: "TOKEN", basic: "CLIENT_ID and CLIENT_SECRET" }[
        schemeOf(operation)
    ];
    return (
        variables &&
        element(
            "p",
            { class: "muted" },
            `Set ${variables} in your shell first: secrets are not copied.`,
        )
    );
}

function copyButton(source) {
    const button = element("button", { type: "button", class: "quiet" }, "Copy");
    button.addEventListener("click", async () => {
        button.textContent = await copied(source);
        setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    return button;
}

async function copied(source) {
    try {
        await navigator.clipboard.writeText(source.textContent);
        return "Copied";
    } catch {
        // Without HTTPS a page cannot write to the clipboard, but the user can.
        getSelection().selectAllChildren(source);
        return "Selected: copy it with the keyboard";
    }
}

async function obtainToken() {
    page.credentialsOutcome.textContent = "Asking…";
    try {
        const response = await fetch(TOKEN_URL, {
            method: "POST",
            headers: {
                Authorization: basic(page.clientId.value, page.clientSecret.value),
                "Content-Type": FORM_TYPE,
            },
            ...FETCH_ALONE,
            signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
        });
        const reply = await response.json().catch(() => ({}));
        if (!reply.access_token)
            throw new Error(reply.error_description ?? reply.error ?? `status ${response.status}`);
        page.token.value = reply.access_token;
        page.credentialsOutcome.textContent = reply.expires_in
            ? `Valid for ${reply.expires_in} seconds.`
            : "Done.";
    } catch (error) {
        page.credentialsOutcome.textContent = `No token: ${error.message}`;
    }
    showAccessState();
}

function showAccessState() {
    page.accessState.textContent = page.token.value ? "set" : "not set";
}

// --- Elements ------------------------------------------------------------------------------------

/** The only way to create elements: attributes are text, children are nodes or text. */
function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (value === true) made.setAttribute(name, "");
        else if (value !== false && value !== undefined && value !== null)
            made.setAttribute(name, value);
    }
    made.append(
        ...children.filter(
            (child) => child !== false && child !== undefined && child !== null && child !== "",
        ),
    );
    return made;
}

const heading = (text) => element("h1", { tabindex: "-1" }, text);
const badge = (method) => element("span", { class: `method ${method}` }, method.toUpperCase());
const statusBadge = (status) => element("span", { class: `status s${status[0]}` }, status);
const code = (text) => (text ? element("code", {}, text) : null);
const strongCode = (text) => element("code", {}, element("b", {}, text));
const linkTo = (operation) => `#${encodeURIComponent(operation.id)}`;
const definition = (term, ...words) => [element("dt", {}, term), element("dd", {}, ...words)];
const requiredCell = (isRequired) =>
    isRequired ? element("b", {}, "yes") : element("span", { class: "muted optional" }, "no");

/** Text that may break after a slash or a dot, or before a capital. */
function breakable(text) {
    return text.split(/(?<=[/.])|(?=[A-Z])/).flatMap((part) => [part, element("wbr")]);
}

function table(titles, rows) {
    return element(
        "table",
        {},
        element(
            "thead",
            {},
            element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title))),
        ),
        element(
            "tbody",
            {},
            ...rows.map((cells) =>
                element("tr", {}, ...cells.map((cell, at) => labelledCell(titles[at], cell))),
            ),
        ),
    );
}

// On a phone a row is a card, and each cell shows the title of its column.
const labelledCell = (title, content) =>
    element("td", { "data-title": title, class: content ? null : "empty" }, content);

function typeCell(schema) {
    const name = typeName(schema ?? {});
    return element(
        "span",
        { class: "type" },
        name,
        isNullable(schema ?? {}) && element("span", { class: "muted" }, " or null"),
    );
}

function descriptionCell(description, schema) {
    const words = wordsAllowed(schema ?? {});
    const limits = constraintsOf(schema ?? {});
    const allowed = separated(words.map((word) => code(JSON.stringify(word))));
    const said = [
        ...prose(description),
        ...(words.length ? [element("p", {}, "One of ", ...allowed)] : []),
        ...(limits.length ? [element("p", { class: "muted" }, limits.join(", "))] : []),
    ];
    return said.length ? element("div", {}, ...said) : null;
}

const separated = (nodes) => nodes.flatMap((node, at) => (at ? [", ", node] : [node]));

/** The subset of Markdown that descriptions use: paragraphs, lists, `code` and **strong**. */
function prose(text) {
    const blocks = (text ?? "")
        .trim()
        .split(/\n\s*\n/)
        .filter(Boolean);
    return blocks.map((block) => {
        const lines = block.split("\n");
        if (!lines.every((line) => /^\s*[-*] /.test(line)))
            return element("p", {}, ...inline(lines.join(" ")));
        return element(
            "ul",
            {},
            ...lines.map((line) => element("li", {}, ...inline(line.replace(/^\s*[-*] /, "")))),
        );
    });
}

function inline(text) {
    return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
        if (/^`[^`]+`$/.test(part)) return element("code", {}, part.slice(1, -1));
        if (/^\*\*[^*]+\*\*$/.test(part)) return element("strong", {}, part.slice(2, -2));
        return part;
    });
}

/** The value of an extension as text: of a string, a list or an object. */
function wordsOf(value) {
    if (Array.isArray(value)) return value.map(wordsOf).join(", ");
    return asText(value ?? "");
}

const asText = (value) =>
    typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");

// Last, because constants exist only after their declaration.
listen();
start();
