// The sign-in page: redeems links, signs in and out, and shows where one is signed in.
//
// The cookie of the session is set by the service and cannot be read here. All text is inserted as
// text; nothing is parsed as HTML. A link's secret is taken out of the address bar at once.

const HEADERS = { "X-Longwire-Console": "1", "Content-Type": "application/json" };
const FAILURES = {
    not_authenticated: "That did not work: it is unknown, wrong or expired.",
    totp_required: "Enter the code of your authenticator app.",
    too_many_requests: "Too many attempts. Wait a minute, then try again.",
    // Of an identity provider.
    access_denied: "The identity provider did not let you in.",
    provider_refused: "The identity provider refused the sign-in. Ask whoever runs this service.",
    provider_unavailable: "The identity provider cannot be reached. Try again later.",
    invalid_state: "The sign-in took too long, or began in another browser. Try again.",
    invalid_token: "The identity provider sent something that is not valid. Try again.",
    email_not_verified: "The identity provider does not vouch for your e-mail address.",
    domain_not_allowed: "Your e-mail address is not of a domain that may sign in here.",
    unknown_user: "Nobody here has your e-mail address yet. Ask for an invitation.",
    other_subject: "Your e-mail address belongs to another account of the identity provider.",
    too_many_attempts: "Too many attempts. Wait a minute, then try again.",
};
const METHODS = {
    link: "a link",
    password: "password",
    oidc: "single sign-on",
    passkey: "passkey",
    client: "client secret",
};

const byId = (id) => document.getElementById(id);
const show = (id, isShown = true) => {
    byId(id).hidden = !isShown;
};

let settings = { signIn: [] };

// --- Requests ------------------------------------------------------------------------------------

export class Failure extends Error {
    constructor(problem) {
        super(FAILURES[problem.code] ?? problem.detail ?? "The service did not respond.");
        this.code = problem.code;
    }
}

export async function send(method, path, body) {
    const options = { method, headers: HEADERS, credentials: "same-origin" };
    if (body !== undefined) {
        options.body = JSON.stringify(body);
    }
    const response = await fetch(path, options).catch(() => {
        throw new Failure({});
    });
    const content = await response.json().catch(() => ({}));
    if (!response.ok) {
        throw new Failure(content);
    }
    return content;
}

export function report(error) {
    byId("alert").textContent = error?.message ?? "";
    show("alert", Boolean(error));
    show("notice", false);
}

function notify(text) {
    report(null);
    byId("notice").textContent = text;
    show("notice");
}

// Run what a button does: the button is disabled meanwhile, and a failure is shown.
export async function run(button, work) {
    button.disabled = true;
    try {
        report(null);
        await work();
    } catch (error) {
        report(error);
    } finally {
        button.disabled = false;
    }
}

function onSubmit(id, work) {
    byId(id).addEventListener("submit", (event) => {
        event.preventDefault();
        const form = event.target;
        const button = event.submitter ?? form.querySelector("button");
        run(button, () => work(readFields(form), form, button));
    });
}

function readFields(form) {
    const entries = [...new FormData(form)].filter(([, value]) => value !== "");
    return Object.fromEntries(entries);
}

// --- Signing in ----------------------------------------------------------------------------------

// Ask for a code when the service wants one; otherwise it is not shown.
async function signIn(form, body) {
    try {
        await send("POST", "/session", body);
    } catch (error) {
        const label = form?.querySelector(".code");
        if (error.code !== "totp_required" || !label) {
            throw error;
        }
        const isFirst = label.hidden;
        label.hidden = false;
        label.querySelector("input").focus();
        if (!isFirst) {
            throw error;
        }
        return;
    }
    form?.reset();
    await showSession();
}

function showSignIn() {
    const offers = (method) => settings.signIn.includes(method);
    byId("title").textContent = "Sign in";
    show("confirm", false);
    show("signed-in", false);
    show("sign-in");
    show("password-form", offers("password"));
    show("reset", offers("password"));
    show("by-mail", settings.mail);
    byId("by-client").open = settings.signIn.length < 3 && !settings.mail;
    byId("buttons").replaceChildren();
    if (offers("oidc")) {
        const link = document.createElement("a");
        link.className = "button";
        link.href = "/session/oidc";
        link.textContent = `Sign in with ${settings.oidcName ?? "single sign-on"}`;
        byId("buttons").append(link);
    }
    document.dispatchEvent(new CustomEvent("sign-in-shown", { detail: settings }));
}

function showConfirm(purpose, secret) {
    show("confirm");
    byId("confirm-form").querySelector("button").focus();
    onSubmit("confirm-form", async (fields, form) => {
        await signIn(form, { link: secret, ...fields });
        if (purpose === "reset" && !byId("signed-in").hidden) {
            notify("Now set a new password.");
            byId("new-password-form").elements.new.focus();
        }
    });
}

// --- Signed in -----------------------------------------------------------------------------------

export async function showSession() {
    let session;
    try {
        session = await send("GET", "/session");
    } catch (error) {
        if (error.code !== "not_authenticated") {
            report(error);
        }
        showSignIn();
        return;
    }
    const { user } = session;
    byId("title").textContent = "You are signed in";
    byId("name").textContent = user.name ?? user.email;
    byId("email").textContent = user.name ? user.email : "";
    show("operator", session.isOperator);
    show("confirm", false);
    show("sign-in", false);
    show("signed-in");
    show("password", settings.signIn.includes("password"));
    show("old-password", false);
    byId("new-password-form").elements.email.value = user.email;
    showTotp(session);
    await showSessions();
    byId("title").focus();
    document.dispatchEvent(new CustomEvent("session-shown", { detail: session }));
}

async function showSessions() {
    const { items } = await send("GET", "/sessions");
    byId("sessions").replaceChildren(...items.map(sessionItem));
}

function sessionItem(session) {
    const item = document.createElement("li");
    const text = document.createElement("div");
    const agent = document.createElement("span");
    agent.className = "agent";
    agent.title = session.userAgent;
    agent.textContent = session.isThis ? "This browser" : describeAgent(session.userAgent);
    const rest = document.createElement("span");
    rest.className = "muted";
    const seen = new Date(session.seenAt).toLocaleString();
    rest.textContent = `${session.address}, by ${METHODS[session.method]}, last used ${seen}`;
    text.append(agent, rest);
    item.append(text);
    if (!session.isThis) {
        const end = document.createElement("button");
        end.type = "button";
        end.className = "quiet";
        end.textContent = "End";
        end.addEventListener("click", () =>
            run(end, async () => {
                await send("DELETE", `/session?sessionId=${encodeURIComponent(session.sessionId)}`);
                await showSessions();
            }),
        );
        item.append(end);
    }
    return item;
}

// "Firefox on Linux" out of the text that browsers send; the whole text if it is unusual.
function describeAgent(agent) {
    const browser = ["Firefox", "Edg", "Chrome", "Safari"].find((each) => agent.includes(each));
    const systems = ["Android", "iPhone", "Windows", "Mac OS", "Linux"];
    const system = systems.find((each) => agent.includes(each));
    const name = browser === "Edg" ? "Edge" : browser;
    return name ? `${name}${system ? ` on ${system}` : ""}` : agent || "A program";
}

// --- Password and authenticator app --------------------------------------------------------------

function showTotp(session) {
    const form = byId("totp-form");
    show("totp", settings.signIn.includes("password") && Boolean(session.hasPassword));
    show("totp-secret", false);
    show("recovery", false);
    form.dataset.step = session.hasTotp ? "disable" : "enrol";
    form.querySelector("label").hidden = !session.hasTotp;
    form.querySelector("button").textContent = session.hasTotp ? "Turn off" : "Turn on";
    byId("totp-state").textContent = session.hasTotp
        ? "On: your password and links by mail need a code as well."
        : "Off. With it, your password alone signs nobody in.";
}

async function stepTotp(fields, form) {
    if (form.dataset.step === "enrol") {
        const enrolled = await send("POST", "/user/totp");
        byId("totp-state").textContent =
            "Enter this secret in your app, then type the code that it shows.";
        byId("totp-secret").replaceChildren(codeElement(enrolled.secret), linkTo(enrolled.uri));
        show("totp-secret");
        form.dataset.step = "confirm";
        form.querySelector("label").hidden = false;
        form.querySelector("button").textContent = "Confirm";
        form.elements.code.focus();
    } else if (form.dataset.step === "confirm") {
        const { recoveryCodes } = await send("PUT", "/user/totp", fields);
        form.reset();
        await showSession();
        notify("Keep these recovery codes. Each replaces a code of your app, once.");
        byId("recovery").replaceChildren(...recoveryCodes.map(listItem));
        show("recovery");
    } else {
        await send("DELETE", "/user/totp", fields);
        form.reset();
        await showSession();
    }
}

function codeElement(text) {
    const element = document.createElement("code");
    element.textContent = text;
    return element;
}

function listItem(text) {
    const element = document.createElement("li");
    element.textContent = text;
    return element;
}

function linkTo(uri) {
    const link = document.createElement("a");
    link.href = uri;
    link.textContent = "Open in an app";
    return link;
}

// --- Start ---------------------------------------------------------------------------------------

function takeFragment() {
    const [name, value] = location.hash.slice(1).split("=", 2);
    if (value) {
        history.replaceState(null, "", location.pathname);
    }
    return [name, value];
}

onSubmit("password-form", (fields, form) => signIn(form, fields));
onSubmit("client-form", (fields, form) => signIn(form, fields));
onSubmit("mail-form", async ({ email }, form, button) => {
    const { message } = await send("POST", button.value, { email });
    notify(message);
});
onSubmit("new-password-form", async (fields, form) => {
    await send("PUT", "/user/password", { old: fields.old, new: fields.new }).catch((error) => {
        // The session is no longer new, so the present password is needed.
        show("old-password", error.code === "not_allowed" || !byId("old-password").hidden);
        throw error;
    });
    form.reset();
    await showSession();
    notify("The password is set. Your other sessions have ended.");
});
onSubmit("totp-form", stepTotp);
byId("sign-out").addEventListener("click", (event) =>
    run(event.target, async () => {
        await send("DELETE", "/session");
        showSignIn();
    }),
);

async function start() {
    const error = new URLSearchParams(location.search).get("error"); // of an identity provider
    const [purpose, value] = takeFragment();
    settings = await send("GET", "/console/settings");
    if (purpose === "mail" || purpose === "reset") {
        showConfirm(purpose, value);
    } else if (purpose === "link") {
        await signIn(null, { link: value }).catch(async (error) => {
            await showSession();
            report(error);
        });
    } else {
        await showSession();
        if (/^[a-z_]{1,40}$/.test(error ?? "")) {
            history.replaceState(null, "", location.pathname);
            report(new Failure({ code: error, detail: `Signing in failed (${error}).` }));
        }
    }
}

start().catch(report);
