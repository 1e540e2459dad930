import { useEffect, useId, useRef, type ReactNode } from "react";

// The native modal dialog: focus stays inside, Escape closes, focus returns to where it was.
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
  useEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) dialog.showModal();
  }, []);
  return (
    <dialog
      ref={ref}
      className={`dialog dialog-${width} ${side ? "dialog-side" : ""}`}
      aria-labelledby={heading}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === ref.current) ref.current?.close();
      }}
    >
      <div className="dialog-box">
        <header className="dialog-head">
          <h2 id={heading}>{title}</h2>
          <button type="button" className="button button-quiet" aria-label="Close" onClick={() => ref.current?.close()}>
            ×
          </button>
        </header>
        <div className="dialog-body">{children}</div>
        {actions && <footer className="dialog-foot">{actions}</footer>}
      </div>
    </dialog>
  );
}
