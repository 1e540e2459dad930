import { useState } from "react";

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  const words = { idle: label, copied: "Copied", failed: "Cannot copy" }[state];
  return (
    <button
      type="button"
      className="copy"
      aria-label={`${label}: ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`}
      onClick={async (event) => {
        event.stopPropagation();
        setState((await copyText(text)) ? "copied" : "failed");
        setTimeout(() => setState("idle"), 1_500);
      }}
    >
      <span aria-hidden="true">⧉</span> <span aria-live="polite">{state === "idle" && label === "Copy" ? "" : words}</span>
    </button>
  );
}

// The middle of a long id is left out; all of it is in the title and in the copy.
export function shortId(id: string): string {
  return id.length > 18 ? `${id.slice(0, 10)}…${id.slice(-5)}` : id;
}

export function IdText({ id }: { id: string }) {
  return (
    <span className="id">
      <code title={id}>{shortId(id)}</code>
      <CopyButton text={id} />
    </span>
  );
}
