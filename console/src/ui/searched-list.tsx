// A list that is here as a whole: one box searches it, and what is found is a table.
import { NoMatch } from "./state";
import { Table, isPhone, type Column } from "./table";
import { t } from "~/messages/ui";

export interface Searched<Row extends { id: string }> {
  all: readonly Row[];
  // There are more than the list can hold.
  isCapped?: boolean;
  // One of them, and many.
  nouns: readonly [string, string];
  columns: readonly Column<Row>[];
  // Where the words are looked for.
  textOf: (row: Row) => string;
  placeholder: string;
  q: string;
  onQ: (text: string) => void;
  // On a phone a row is a card, as high as what stands in it.
  rowHeight: number;
  onOpen: (row: Row) => void;
}

export function SearchedList<Row extends { id: string }>({ all, isCapped = false, nouns, columns, textOf, placeholder, q, onQ, rowHeight, onOpen }: Searched<Row>) {
  const [one, many] = nouns;
  const words = q.toLowerCase();
  const rows = all.filter((each) => textOf(each).toLowerCase().includes(words));
  const counted = rows.length === all.length ? `${all.length}` : t("countOfCount2", { count: rows.length, count2: all.length });
  return (
    <>
      <div className="filters">
        <input className="input search-box" type="search" placeholder={placeholder} aria-label={t("SearchMany", { many })} value={q} onChange={(event) => onQ(event.target.value)} />
        <span className="ink-2">
          {counted}
          {isCapped ? "+" : ""} {all.length === 1 ? one : many}
        </span>
      </div>
      {rows.length === 0 ? (
        <NoMatch chips={[{ label: q, onRemove: () => onQ("") }]} onClear={() => onQ("")} />
      ) : (
        <Table
          label={`${many.charAt(0).toUpperCase()}${many.slice(1)}`}
          rows={rows}
          columns={columns}
          rowKey={(row) => row.id}
          {...(isPhone() ? {} : { rowHeight })}
          onOpen={onOpen}
        />
      )}
    </>
  );
}
