// The parts of the address that every screen shares: time range, zone, and whether groups below count.
import { useCallback, useMemo } from "react";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { DEFAULT_RANGE, isZone, spanOf, type Span, type TimeRange } from "~/time";
import { preferences, setPreference, usePreferences } from "~/preferences";

export interface PageSearch {
  from?: string | undefined;
  to?: string | undefined;
  tz?: string | undefined;
  // Only what the group itself has; without it, with all groups below.
  own?: true | undefined;
}

// The group in the path, or the last one where a screen belongs to none.
export function useGroupId(): string | null {
  const params = useParams({ strict: false }) as { groupId?: string };
  const { lastGroup } = usePreferences();
  return params.groupId ?? (lastGroup || null);
}

// Whether a page shows what the groups below have, too. The address says so: a link shows the same to everybody.
export function useScope(): { withBelow: boolean; setWithBelow: (withBelow: boolean) => void } {
  const search = useSearch({ strict: false }) as PageSearch;
  const navigate = useNavigate();
  const setWithBelow = useCallback(
    (withBelow: boolean) => {
      setPreference("scope", withBelow ? "below" : "own");
      void navigate({ to: ".", search: (before: object) => ({ ...before, own: withBelow ? undefined : true }) } as never);
    },
    [navigate],
  );
  return { withBelow: !search.own, setWithBelow };
}

// The same outside of React, for the first address that a person opens.
export function preferredScope(): Pick<PageSearch, "own"> {
  return preferences().scope === "own" ? { own: true } : {};
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
