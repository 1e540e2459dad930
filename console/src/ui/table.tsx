// A list of any length: only the rows in view are in the document. Rows are chosen with j and k,
// selected with x, opened with Enter. Below 640 px a row becomes a card of two lines.
import { memo, useCallback, useEffect, useId, useRef, type CSSProperties, type KeyboardEvent, type ReactNode, type Ref } from "react";
import { useVirtualizer } from "@tanstack/react-virtual";
import type { SelectionState } from "./selection";
import { isShortcut, useShortcuts } from "./keys";
import { t } from "~/messages/ui";

export interface Column<Row> {
  id: string;
  head: ReactNode;
  cell: (row: Row) => ReactNode;
  // A track of a CSS grid: "1fr", "120px", "minmax(120px, 2fr)".
  width: string;
  align?: "end";
  // In a card: the first line, the second line, a line of its own, or not at all.
  card?: "title" | "line" | "wide" | "none";
  sort?: { order: "ascending" | "descending" | null; onSort: () => void };
}

export interface TableProps<Row> {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string;
  onOpen?: ((row: Row) => void) | undefined;
  selection?: SelectionState | undefined;
  // Called when the last rows come into view, as often as there is more to load.
  onEndReached?: (() => void) | undefined;
  // How many rows there are in all, where that is known and larger than what is loaded.
  total?: number | undefined;
  rowHeight?: number;
  isLoadingMore?: boolean;
  rowClass?: (row: Row) => string | undefined;
  // A row that heads those below it: what stands in it, over all columns. It cannot be selected.
  rowHead?: ((row: Row) => ReactNode | undefined) | undefined;
  // Called when the first row comes into view or leaves it, for lists that grow at the top.
  onTopChange?: ((isAtTop: boolean) => void) | undefined;
  // For lists that change many times a second while nobody is in them: elements stay at their place
  // and get the next row, instead of being made for every row.
  isByPlace?: boolean;
  // How many rows are kept ready beyond those in view.
  overscan?: number | undefined;
}

const END_ROWS = 20;
const OVERSCAN = 12;
const TOP_PX = 8;
const CARD_PX = 56;
const ROW_PX = 36;

// On a phone a row is a card, as high as what stands in it.
export function isPhone(): boolean {
  return window.matchMedia("(max-width: 640px)").matches;
}

function tokenRowHeight(element: HTMLElement | null): number {
  return (element && parseInt(getComputedStyle(element).getPropertyValue("--row"), 10)) || ROW_PX;
}

function rowHeightOf(element: HTMLElement | null, given: number | undefined): number {
  if (given !== undefined) return given;
  return isPhone() ? CARD_PX : tokenRowHeight(element);
}

// The head stays in view above the rows, with a line below it; cards have none.
function headHeightOf(element: HTMLElement | null): number {
  return isPhone() ? 0 : tokenRowHeight(element) + 1;
}

interface RowActions {
  open(index: number): void;
  choose(key: string, isRange: boolean): void;
}

interface TableRowProps {
  ref: Ref<HTMLDivElement> | undefined;
  row: unknown;
  rowId: string;
  index: number;
  // The one of all rows that the Tab key goes to.
  isTabStop: boolean;
  top: number;
  // Of what stands in it, if it is not given.
  height: number | undefined;
  columns: readonly Column<never>[];
  template: string;
  className: string | undefined;
  head: ReactNode | undefined;
  isLink: boolean;
  // Undefined where nothing can be selected.
  isChosen: boolean | undefined;
  actions: { readonly current: RowActions };
}

// Rendered again only when something of it has changed: a list is rendered for every step of scrolling.
const TableRow = memo(function TableRow({ ref, row, rowId, index, isTabStop, top, height, columns, template, className, head, isLink, isChosen, actions }: TableRowProps) {
  const isSelectable = isChosen !== undefined;
  const id = useId();
  // What a row is called by, and what stands first in it: its checkbox is named after both.
  const title = columns.find((each) => each.card === "title") ?? columns[0];
  const named = title === columns[0] ? `${id}title` : t("idTitleIdFirst", { id });
  const place = { transform: t("translateYTopPx", { top }), ...(height === undefined ? { minHeight: CARD_PX } : { height }) };
  const common = { ref, role: "row", "data-index": index, tabIndex: isTabStop ? 0 : -1, "aria-rowindex": index + 1 } as const;
  if (head !== undefined)
    return (
      <div {...common} className="table-row table-row-head" style={place}>
        <div role="gridcell" aria-colspan={columns.length + (isSelectable ? 1 : 0)}>
          {head}
        </div>
      </div>
    );
  return (
    <div
      {...common}
      aria-selected={isChosen}
      className={`table-row ${isLink ? "table-row-link" : ""} ${isSelectable ? "table-row-select" : ""} ${className ?? ""}`}
      style={{ gridTemplateColumns: template, ...place }}
      onClick={(event) => {
        if (!(event.target as HTMLElement).closest("a, button, input, label, select")) actions.current.open(index);
      }}
    >
      {isSelectable && (
        <div role="gridcell">
          <input type="checkbox" id={`${id}select`} aria-label={t("Select")} aria-labelledby={t("idSelectNamed", { id, named })} checked={isChosen} onChange={() => {}} onClick={(event) => actions.current.choose(rowId, event.shiftKey)} />
        </div>
      )}
      {columns.map((column) => (
        <div key={column.id} id={column === title ? `${id}title` : column === columns[0] ? `${id}first` : undefined} role="gridcell" className={column.align === "end" ? "cell-end" : undefined} data-card={column.card ?? "none"}>
          {column.cell(row as never)}
        </div>
      ))}
    </div>
  );
});

export function Table<Row>(props: TableProps<Row>) {
  const { label, rows, columns, rowKey, onOpen, selection, onEndReached, total, isLoadingMore, rowClass, rowHead, onTopChange, isByPlace = false } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const height = rowHeightOf(scroller.current, props.rowHeight);
  const headHeight = headHeightOf(scroller.current);
  const isCard = isPhone() && props.rowHeight === undefined;
  const cardKey = (index: number) => rowKey(rows[index] as Row);
  // Rows of one height are where they are whatever is in them; another height places them again.
  const placeKey = useCallback((index: number) => index, [height]);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: props.overscan ?? OVERSCAN,
    scrollMargin: headHeight,
    scrollPaddingStart: headHeight,
    getItemKey: isCard ? cardKey : placeKey,
  });
  const measured = isCard ? virtualizer.measureElement : undefined;
  const items = virtualizer.getVirtualItems();
  const top = (virtualizer.scrollOffset ?? 0) + headHeight;
  const firstInView = (items.find((each) => each.start >= top) ?? items[0])?.index;
  const lastShown = items[items.length - 1]?.index ?? 0;
  useEffect(() => {
    if (onEndReached && rows.length > 0 && lastShown >= rows.length - END_ROWS) onEndReached();
  }, [lastShown, rows.length, onEndReached]);

  const isHead = useCallback((row: Row) => rowHead?.(row) !== undefined, [rowHead]);
  const keysOf = useCallback(() => rows.filter((row) => !isHead(row)).map(rowKey), [rows, rowKey, isHead]);
  const focusRow = (index: number) => {
    virtualizer.scrollToIndex(index);
    const find = () => scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"]`);
    const row = find();
    // At once where it can be, so that keys that follow quickly find it focused.
    if (row) row.focus({ preventScroll: true });
    else requestAnimationFrame(() => find()?.focus({ preventScroll: true }));
  };
  // From elsewhere on the page; within the list the same keys move on.
  const enter = () => scroller.current?.querySelector<HTMLElement>("[data-index][tabindex='0']")?.focus();
  useShortcuts([
    { key: "j", label: t("ToListAndToNextRow"), run: enter },
    { key: "k", label: t("ToPreviousRow"), run: enter },
  ]);
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (!isShortcut(event.nativeEvent)) return;
    const at = Number((event.target as HTMLElement).closest<HTMLElement>("[data-index]")?.dataset.index ?? -1);
    const row = rows[at];
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      focusRow(Math.max(0, Math.min(rows.length - 1, at + step)));
    } else if (event.key === "Enter" && row !== undefined && (event.target as HTMLElement).dataset.index !== undefined) {
      // Else the same press would act on what has the focus in a dialog that opens.
      event.preventDefault();
      onOpen?.(row);
    } else if (event.key.toLowerCase() === "x" && row !== undefined && !isHead(row) && selection) {
      event.preventDefault();
      if (event.shiftKey) selection.extend(rowKey(row), keysOf());
      else selection.toggle(rowKey(row), keysOf());
    } else if (event.key === "Escape" && selection && selection.count > 0) {
      selection.clear();
    }
  };

  // Those of the last render, so that a row need not be rendered again because they are others now.
  const actions = useRef<RowActions>({ open: () => {}, choose: () => {} });
  actions.current = {
    open: (index) => rows[index] !== undefined && onOpen?.(rows[index]),
    choose: (key, isRange) => (isRange ? selection?.extend(key, keysOf()) : selection?.toggle(key, keysOf())),
  };
  const template = `${selection ? "32px " : ""}${columns.map((column) => column.width).join(" ")}`;
  const isAllLoadedSelected = selection !== undefined && rows.length > 0 && rows.every((row) => isHead(row) || selection.has(rowKey(row)));
  return (
    <div className="table" style={{ "--content": `${virtualizer.getTotalSize() + (isLoadingMore ? height : 0)}px` } as CSSProperties} role="grid" aria-label={label} aria-rowcount={total ?? rows.length} aria-multiselectable={selection ? true : undefined} onKeyDown={onKeyDown}>
      <div ref={scroller} className="table-body" onScroll={onTopChange && ((event) => onTopChange(event.currentTarget.scrollTop < TOP_PX))}>
        <div role="rowgroup" className="table-head">
          <div role="row" className="table-row" style={{ gridTemplateColumns: template }}>
            {selection && (
              <div role="columnheader">
                <input
                  type="checkbox"
                  aria-label={t("SelectAllThatAreLoaded")}
                  checked={isAllLoadedSelected}
                  onChange={() => (isAllLoadedSelected ? selection.clear() : selection.setKeys(keysOf()))}
                />
              </div>
            )}
            {columns.map((column) => (
              <div key={column.id} role="columnheader" className={column.align === "end" ? "cell-end" : undefined} aria-sort={column.sort?.order ?? undefined}>
                {column.sort ? (
                  <button type="button" className="sort" onClick={column.sort.onSort}>
                    {column.head}
                    <span aria-hidden="true">{column.sort.order === "ascending" ? " ↑" : column.sort.order === "descending" ? " ↓" : ""}</span>
                  </button>
                ) : (
                  column.head
                )}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="table-rows" style={{ height: virtualizer.getTotalSize() }}>
          {items.map((item) => {
            const row = rows[item.index] as Row;
            const key = rowKey(row);
            return (
              <TableRow
                key={isByPlace && !isCard ? item.index : key}
                ref={measured}
                row={row}
                rowId={key}
                index={item.index}
                isTabStop={item.index === firstInView}
                top={item.start - headHeight}
                height={isCard ? undefined : item.size}
                columns={columns as readonly Column<never>[]}
                template={template}
                className={rowClass?.(row)}
                head={rowHead?.(row)}
                isLink={onOpen !== undefined}
                isChosen={selection && selection.has(key)}
                actions={actions}
              />
            );
          })}
        </div>
        {isLoadingMore && <div className="skeleton" aria-hidden="true" />}
      </div>
    </div>
  );
}
