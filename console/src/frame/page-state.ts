// The parts of the address that every screen shares: time range and zone.
import { useCallback, useMemo } from "react";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { DEFAULT_RANGE, isZone, spanOf, type Span, type TimeRange } from "~/time";
import { usePreferences } from "~/preferences";

export interface PageSearch {
  from?: string | undefined;
  to?: string | undefined;
  tz?: string | undefined;
}

// The group in the path, or the last one where a screen belongs to none.
export function useGroupId(): string | null {
  const params = useParams({ strict: false }) as { groupId?: string };
  const { lastGroup } = usePreferences();
  return params.groupId ?? (lastGroup || null);
}

// A zone in the address wins over the chosen one; empty is the browser's own.
export function useZone(): string {
  const search = useSearch({ strict: false }) as PageSearch;
  const { zone } = usePreferences();
  return search.tz && isZone(search.tz) ? search.tz : zone;
}

export function useRange(): {
  range: TimeRange;
  // Milliseconds; computed when the range changes, so that it can be part of a query's key.
  span: Span;
  setRange: (range: TimeRange) => void;
} {
  const search = useSearch({ strict: false }) as PageSearch;
  const navigate = useNavigate();
  const from = search.from ?? DEFAULT_RANGE.from;
  const to = search.to ?? DEFAULT_RANGE.to;
  const range = useMemo(() => ({ from, to }), [from, to]);
  const span = useMemo(() => spanOf(range, Date.now()), [range]);
  const setRange = useCallback(
    (next: TimeRange) => {
      const isDefault = next.from === DEFAULT_RANGE.from && next.to === DEFAULT_RANGE.to;
      void navigate({
        to: ".",
        search: (before: object) => ({
          ...before,
          from: isDefault ? undefined : next.from,
          to: isDefault ? undefined : next.to,
        }),
      } as never);
    },
    [navigate],
  );
  return { range, span, setRange };
}
