import { useEffect, useRef, type KeyboardEvent, type ReactNode } from "react";

export interface Tab<T extends string> {
  id: T;
  label: ReactNode;
}

// Which tab is open belongs into the address: the page passes it in, and `onChoose` reports a choice.
export function Tabs<T extends string>({
  tabs,
  current,
  onChoose,
  label,
  children,
}: {
  tabs: readonly Tab<T>[];
  current: T;
  onChoose: (id: T) => void;
  label: string;
  children: ReactNode;
}) {
  const list = useRef<HTMLDivElement>(null);
  // Where not all fit, the current one is in view; the page itself stays where it is.
  useEffect(() => {
    const tab = document.getElementById(`tab-${current}`)?.getBoundingClientRect();
    const box = list.current?.getBoundingClientRect();
    if (tab && box) list.current?.scrollBy({ left: tab.left + tab.width / 2 - box.left - box.width / 2 });
  }, [current]);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = tabs.findIndex((each) => each.id === current);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    onChoose(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <>
      <div ref={list} role="tablist" aria-label={label} className="tabs" onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`tab-${tab.id}`}
            aria-selected={tab.id === current}
            aria-controls={`tabpanel-${tab.id}`}
            tabIndex={tab.id === current ? 0 : -1}
            className="tab"
            onClick={() => onChoose(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`tabpanel-${current}`} aria-labelledby={`tab-${current}`} className="tabpanel">
        {children}
      </div>
    </>
  );
}
