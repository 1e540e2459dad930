import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { Button } from "./button";
import { DialogDrafts } from "./drafts";
import { t } from "~/messages/ui";

// The native modal dialog: focus stays inside, Escape closes, focus returns to where it was. While a form
// in it has something unsaved, closing asks first.
export function Dialog({
  title,
  onClose,
  children,
  actions,
  width = "normal",
  side = false,
}: {
  title: ReactNode;
  onClose: () => void;
  children: ReactNode;
  actions?: ReactNode;
  width?: "normal" | "wide";
  // A drawer at the right edge instead of a box in the middle.
  side?: boolean;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const [drafts] = useState(() => new Set<object>());
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) dialog.showModal();
  }, []);
  const close = () => {
    if (drafts.size > 0) setAsking(true);
    else ref.current?.close();
  };
  return (
    <dialog
      ref={ref}
      className={`dialog dialog-${width} ${side ? "dialog-side" : ""}`}
      aria-labelledby={heading}
      onClose={onClose}
      onCancel={(event) => {
        if (event.target !== ref.current || drafts.size === 0) return;
        event.preventDefault();
        setAsking(true);
      }}
      onClick={(event) => {
        if (event.target === ref.current) close();
      }}
    >
      <div className="dialog-box">
        <header className="dialog-head">
          <h2 id={heading}>{title}</h2>
          <button type="button" className="button button-quiet" aria-label={t("Close")} onClick={close}>
            ×
          </button>
        </header>
        <div className="dialog-body">
          <DialogDrafts value={drafts}>{children}</DialogDrafts>
        </div>
        {actions && <footer className="dialog-foot">{actions}</footer>}
      </div>
      {isAsking && <LeaveDialog onStay={() => setAsking(false)} onLeave={() => ref.current?.close()} />}
    </dialog>
  );
}

export function LeaveDialog({ onStay, onLeave }: { onStay: () => void; onLeave: () => void }) {
  return (
    <Dialog
      title={t("LeaveWithoutSaving")}
      onClose={onStay}
      actions={
        <>
          <Button onClick={onStay}>{t("Stay")}</Button>
          <Button look="danger" writes={false} onClick={onLeave}>
            {t("Leave")}
          </Button>
        </>
      }
    >
      <p>{t("WhatYouTypedIsNotSaved")}</p>
    </Dialog>
  );
}
