// Passkeys through the browser's own JSON forms of WebAuthn.
import { CONSOLE_HEADERS, api, read, type Schemas } from "~/api/client";

const params = { header: CONSOLE_HEADERS };

export function hasPasskeys(): boolean {
  return typeof window.PublicKeyCredential?.parseRequestOptionsFromJSON === "function";
}

function credentialJson(credential: Credential | null): Record<string, never> {
  if (!(credential instanceof PublicKeyCredential)) throw new DOMException("No passkey.", "NotAllowedError");
  return credential.toJSON() as Record<string, never>;
}

export async function signInByPasskey(): Promise<Schemas["SessionInfo"]> {
  const { publicKey } = await read(api.POST("/session/passkey/options", { params }));
  const options = PublicKeyCredential.parseRequestOptionsFromJSON(publicKey as unknown as PublicKeyCredentialRequestOptionsJSON);
  const credential = credentialJson(await navigator.credentials.get({ publicKey: options }));
  return read(api.POST("/session/passkey", { params, body: { credential } }));
}

export async function registerPasskey(name: string): Promise<void> {
  const { publicKey } = await read(api.POST("/user/passkey/options", { params }));
  const options = PublicKeyCredential.parseCreationOptionsFromJSON(publicKey as unknown as PublicKeyCredentialCreationOptionsJSON);
  const credential = credentialJson(await navigator.credentials.create({ publicKey: options }));
  await read(api.POST("/user/passkey", { params, body: { name, credential } }));
}
