import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { unreachableReason, useUnreachableSince } from "~/api/reachability";

// A button with a popover below it. The browser closes it on Escape and on a press elsewhere.
export function Popover({
  label,
  children,
  className = "",
  look = "normal",
  title,
}: {
  label: ReactNode;
  children: ReactNode | ((close: () => void) => ReactNode);
  className?: string;
  look?: "normal" | "quiet";
  title?: string;
}) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const place = (event: Event) => {
      if ((event as ToggleEvent).newState !== "open" || !button.current) return;
      const anchor = button.current.getBoundingClientRect();
      const width = element.offsetWidth;
      const left = Math.max(8, Math.min(anchor.left, window.innerWidth - width - 8));
      const below = window.innerHeight - anchor.bottom;
      const goesUp = below < element.offsetHeight + 16 && anchor.top > below;
      element.style.left = `${left}px`;
      element.style.top = goesUp ? `${Math.max(8, anchor.top - element.offsetHeight - 4)}px` : `${anchor.bottom + 4}px`;
      element.querySelector<HTMLElement>("[autofocus], [role=menuitem], input, button, a")?.focus();
    };
    // What is inside exists only while it is shown: no request for a menu that nobody opens.
    const fill = (event: Event) => flushSync(() => setOpen((event as ToggleEvent).newState === "open"));
    element.addEventListener("beforetoggle", fill);
    element.addEventListener("toggle", place);
    return () => {
      element.removeEventListener("beforetoggle", fill);
      element.removeEventListener("toggle", place);
    };
  }, []);
  const close = () => box.current?.hidePopover();
  return (
    <>
      <button
        ref={button}
        type="button"
        className={`button button-${look} ${className}`}
        popoverTarget={id}
        aria-haspopup="true"
        title={title}
      >
        {label}
      </button>
      <div ref={box} id={id} popover="auto" className="popover">
        {isOpen && (typeof children === "function" ? children(close) : children)}
      </div>
    </>
  );
}

export interface MenuItem {
  label: ReactNode;
  onSelect: () => void;
  // Whether it changes something, or leads to what does: that waits while the service is unreachable.
  writes: boolean;
  look?: "danger";
  disabledReason?: string | undefined;
}

export function offeredItems(items: readonly MenuItem[], isUnreachable: boolean): readonly MenuItem[] {
  return items.map((item) => ({ ...item, disabledReason: unreachableReason(isUnreachable, item.writes) ?? item.disabledReason }));
}

export function Menu({ label, items: given, look = "normal" }: { label: ReactNode; items: readonly MenuItem[]; look?: "normal" | "quiet" }) {
  const items = offeredItems(given, useUnreachableSince() !== null);
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const entries = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=menuitem]")];
    const at = entries.indexOf(document.activeElement as HTMLElement);
    entries[(at + step + entries.length) % entries.length]?.focus();
  };
  return (
    <Popover label={label} look={look}>
      {(close) => (
        <div role="menu" className="menu" onKeyDown={onKeyDown}>
          {items.map((item, index) => (
            <button
              key={index}
              type="button"
              role="menuitem"
              className={`menu-item ${item.look === "danger" ? "menu-danger" : ""}`}
              aria-disabled={item.disabledReason !== undefined || undefined}
              title={item.disabledReason}
              onClick={() => {
                if (item.disabledReason !== undefined) return;
                close();
                item.onSelect();
              }}
            >
              {item.label}
            </button>
          ))}
        </div>
      )}
    </Popover>
  );
}
