// A list that is here as a whole: one box searches it, and what is found is a table.
import { NoMatch } from "./state";
import { Table, isPhone, type Column } from "./table";
import { LOCALE } from "~/i18n";
import { LISTS, type ListNoun } from "./nouns";

export interface Searched<Row extends { id: string }> {
  all: readonly Row[];
  // There are more than the list can hold.
  isCapped?: boolean;
  noun: ListNoun;
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

export function SearchedList<Row extends { id: string }>({ all, isCapped = false, noun, columns, textOf, placeholder, q, onQ, rowHeight, onOpen }: Searched<Row>) {
  const list = LISTS[noun];
  const words = q.toLowerCase();
  const rows = all.filter((each) => textOf(each).toLowerCase().includes(words));
  const total = `${all.length.toLocaleString(LOCALE)}${isCapped ? "+" : ""}`;
  const counted = rows.length === all.length ? list.count({ count: all.length, total }) : list.countFound({ count: all.length, found: rows.length, total });
  return (
    <>
      <div className="filters">
        <input className="input search-box" type="search" placeholder={placeholder} aria-label={list.search} value={q} onChange={(event) => onQ(event.target.value)} />
        <span className="ink-2">{counted}</span>
      </div>
      {rows.length === 0 ? (
        <NoMatch chips={[{ label: q, onRemove: () => onQ("") }]} onClear={() => onQ("")} />
      ) : (
        <Table
          label={list.title}
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
