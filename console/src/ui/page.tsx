import { useEffect, type ReactNode } from "react";
import { t } from "~/messages/ui";

interface PageHead {
  title: string;
  // There is room for it from the beginning, also while it is undefined.
  above?: ReactNode;
  state?: ReactNode;
  below?: ReactNode;
  actions?: ReactNode;
}

// The head of every screen: where it is, what it is, what can be done.
export function PageHeader(head: PageHead) {
  const { title, above, state, below, actions } = head;
  useEffect(() => {
    document.title = t("titleLongwire", { title });
  }, [title]);
  return (
    <header className="page-head">
      <div className="page-head-text">
        {"above" in head && <div className="page-above">{above}</div>}
        <div className="page-title">
          <h1>{title}</h1>
          {state}
        </div>
        {below && <div className="page-below">{below}</div>}
      </div>
      {actions && <div className="page-actions">{actions}</div>}
    </header>
  );
}

export function Card({
  title,
  note,
  children,
  className = "",
}: {
  title?: ReactNode;
  note?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <section className={`card ${className}`}>
      {title !== undefined && (
        <header className="card-head">
          <h2>{title}</h2>
          {note !== undefined && <span className="card-note">{note}</span>}
        </header>
      )}
      {children}
    </section>
  );
}

// Names and values below each other.
export function Facts({ rows }: { rows: readonly (readonly [ReactNode, ReactNode])[] }) {
  return (
    <dl className="facts">
      {rows.map(([name, value], index) => (
        <div key={index}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
