// Passkeys on the sign-in page: a button to sign in with one, and a list of one's own.

import { report, run, send, showSession } from "/sign-in/sign-in.js";

const extra = document.getElementById("extra");
const isSupported = Boolean(window.PublicKeyCredential?.parseRequestOptionsFromJSON);

// What the browser's own errors mean to a person.
function explain(error) {
    if (error?.name === "NotAllowedError" || error?.name === "AbortError") {
        return new Error("No passkey was used. Try again, or sign in another way.");
    }
    if (error?.name === "InvalidStateError") {
        return new Error("This device has a passkey of yours already.");
    }
    if (error?.name === "SecurityError") {
        return new Error("Passkeys need HTTPS and a host name; on this machine, open localhost.");
    }
    return error;
}

async function ask(work) {
    try {
        return await work();
    } catch (error) {
        throw explain(error);
    }
}

function element(name, text, className = "") {
    const made = document.createElement(name);
    made.textContent = text;
    made.className = className;
    return made;
}

function button(text, work, className = "") {
    const made = element("button", text, className);
    made.type = "button";
    made.addEventListener("click", () => run(made, work));
    return made;
}

async function signIn() {
    const { publicKey } = await send("POST", "/session/passkey/options");
    const options = PublicKeyCredential.parseRequestOptionsFromJSON(publicKey);
    const credential = await ask(() => navigator.credentials.get({ publicKey: options }));
    await send("POST", "/session/passkey", { credential: credential.toJSON() });
    await showSession();
}

async function register(name) {
    const { publicKey } = await send("POST", "/user/passkey/options");
    const options = PublicKeyCredential.parseCreationOptionsFromJSON(publicKey);
    const credential = await ask(() => navigator.credentials.create({ publicKey: options }));
    await send("POST", "/user/passkey", { name, credential: credential.toJSON() });
    await showPasskeys();
}

async function showPasskeys() {
    const { items } = await send("GET", "/user/passkeys");
    const list = element("ul", "");
    list.id = "passkeys";
    list.append(...items.map(passkeyItem));
    const form = element("form", "");
    const label = element("label", "Name of this device ");
    const name = element("input", "");
    name.maxLength = 64;
    name.required = true;
    label.append(name);
    form.append(label, element("button", "Add a passkey"));
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        run(form.querySelector("button"), () => register(name.value.trim()));
    });
    const nothing = "None. With one, you sign in by fingerprint, face or PIN, without a password.";
    extra.replaceChildren(
        element("h2", "Passkeys"),
        items.length ? list : element("p", nothing, "muted"),
        form,
    );
    extra.hidden = false;
}

function passkeyItem(passkey) {
    const item = element("li", "");
    const text = element("div", "");
    const seen = passkey.seenAt
        ? `last used ${new Date(passkey.seenAt).toLocaleString()}`
        : "not used yet";
    const synced = passkey.isSynced ? "synced, " : "";
    text.append(
        element("span", passkey.name, "agent"),
        element("span", `${synced}${seen}`, "muted"),
    );
    const rename = button("Rename", () => editName(passkey, item), "quiet");
    const remove = button("Delete", () => deletePasskey(passkey, item), "quiet");
    item.append(text, rename, remove);
    return item;
}

function editName(passkey, item) {
    const form = element("form", "");
    const name = element("input", "");
    name.value = passkey.name;
    name.maxLength = 64;
    name.required = true;
    name.ariaLabel = "Name of the passkey";
    form.append(name, element("button", "Save"));
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        run(form.querySelector("button"), async () => {
            const body = { passkeyId: passkey.passkeyId, name: name.value.trim() };
            await send("PUT", "/user/passkey", body);
            await showPasskeys();
        });
    });
    item.replaceChildren(form);
    name.focus();
}

// A passkey cannot be brought back, so that the button asks once.
async function deletePasskey(passkey, item) {
    const last = item.lastElementChild;
    if (last.dataset.isAsked) {
        await send("DELETE", `/user/passkey?passkeyId=${encodeURIComponent(passkey.passkeyId)}`);
        await showPasskeys();
        return;
    }
    last.dataset.isAsked = "yes";
    last.textContent = "Delete it for good";
}

document.addEventListener("sign-in-shown", ({ detail: settings }) => {
    extra.hidden = true;
    if (isSupported && settings.signIn.includes("passkey")) {
        document.getElementById("buttons").append(button("Sign in with a passkey", signIn));
    }
});
document.addEventListener("session-shown", async () => {
    try {
        const settings = await send("GET", "/console/settings");
        if (isSupported && settings.signIn.includes("passkey")) {
            await showPasskeys();
        }
    } catch (error) {
        report(error);
    }
});
