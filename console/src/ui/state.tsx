// What a screen shows instead of its data: loading, empty, nothing matches, error, missing right.
import { useEffect, useState, type ReactNode } from "react";
import { useQueryClient, type Query, type UseQueryResult } from "@tanstack/react-query";
import { ApiProblem, Unreachable } from "~/api/client";
import type { Operation } from "~/api/permissions";
import { BASE_PATH } from "~/base-path";
import { Button } from "./button";
import { Command } from "./command";
import { CopyButton } from "./copy";
import { Why } from "./why";
import { t } from "~/messages/ui";

const QUIET_MS = 150;
const LONG_MS = 5_000;

function useElapsed(ms: number): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setOver(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return isOver;
}

// What the page has asked for and has nothing of yet.
const AWAITED = { type: "active", predicate: (query: Query) => query.state.data === undefined } as const;

// Grey rows of the right height, which are seen after 150 ms; after 5 s it says so and can be stopped.
export function Loading({ rows = 8 }: { rows?: number }) {
  const client = useQueryClient();
  const isVisible = useElapsed(QUIET_MS);
  const isLong = useElapsed(LONG_MS);
  const [isStopped, setStopped] = useState(false);
  const stop = () => {
    setStopped(true);
    void client.cancelQueries(AWAITED);
  };
  const goOn = () => {
    setStopped(false);
    void client.refetchQueries(AWAITED);
  };
  if (isStopped)
    return (
      <div className="state" role="status">
        <p>{t("Stopped2")}</p>
        <Button onClick={goOn}>{t("TryAgain")}</Button>
      </div>
    );
  return (
    <div className={isVisible ? "loading" : "loading loading-quiet"} aria-busy="true" role="status">
      {isVisible && <span className="visually-hidden">{t("Loading")}</span>}
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="skeleton" />
      ))}
      {isLong && (
        <p className="ink-2">
          {t("StillWorking")}{" "}<Button onClick={stop}>{t("Stop")}</Button>
        </p>
      )}
    </div>
  );
}

export function Empty({ text, action, curl }: { text: ReactNode; action?: ReactNode; curl?: string }) {
  return (
    <div className="state">
      <p>{text}</p>
      {action}
      {curl && (
        <div className="state-curl">
          <Command text={curl} />
          <a href={`${BASE_PATH}/docs`}>{t("AllOperations")}</a>
        </div>
      )}
    </div>
  );
}

export interface Chip {
  label: string;
  onRemove: () => void;
}

export function NoMatch({ chips, onClear }: { chips: readonly Chip[]; onClear: () => void }) {
  return (
    <div className="state">
      <p>{t("NothingMatches")}</p>
      <p className="chips">
        {chips.map((chip) => (
          <button key={chip.label} type="button" className="chip" onClick={chip.onRemove} aria-label={t("RemoveLabel", { label: chip.label })}>
            {chip.label} <span aria-hidden="true">×</span>
          </button>
        ))}
      </p>
      <Button onClick={onClear}>{t("ClearAll")}</Button>
    </div>
  );
}

function RetryCountdown({ seconds, onRetry }: { seconds: number; onRetry: () => void }) {
  const [left, setLeft] = useState(seconds);
  useEffect(() => {
    if (left <= 0) {
      onRetry();
      return;
    }
    const timer = setTimeout(() => setLeft(left - 1), 1_000);
    return () => clearTimeout(timer);
  }, [left, onRetry]);
  return <p className="ink-2">{t("TryingAgainInLeftS", { left })}</p>;
}

export interface ErrorContext {
  // The operation that was refused, and where: lets a missing right explain itself.
  operation?: Operation | undefined;
  groupId?: string | null | undefined;
  // What the screen is about, for "There is no such …".
  noun?: string | undefined;
}

export function ErrorState({ error, onRetry, operation, groupId, noun = "thing" }: ErrorContext & { error: unknown; onRetry?: () => void }) {
  const problem = error instanceof ApiProblem ? error : null;
  if (problem?.status === 404)
    return (
      <div className="state" role="alert">
        <p>{t("ThereIsNoSuchNounOr", { noun })}</p>
        {onRetry && <Button onClick={onRetry}>{t("TryAgain")}</Button>}
      </div>
    );
  if (problem?.status === 403 && operation && groupId)
    return (
      <div className="state" role="alert">
        <p>
          {t.rich("YouMayNotSeeThisWhy", { why: <Why operation={operation} groupId={groupId} /> })}
        </p>
      </div>
    );
  const text = error instanceof Unreachable || problem ? (error as Error).message : t("pageFailedReloadIt");
  return (
    <div className="state state-error" role="alert">
      <p>{text}</p>
      {problem && (
        <p className="ink-2">
          <code>{problem.code}</code>
          {problem.requestId && (
            <>
              {" "}
              {t.rich("requestCode", { code: <code>{problem.requestId}</code> })} <CopyButton text={problem.requestId} />
            </>
          )}
        </p>
      )}
      {problem && problem.fields.length > 0 && (
        <ul>
          {problem.fields.map((each, index) => (
            <li key={index}>
              <code>{each.field}</code>: {each.message}
            </li>
          ))}
        </ul>
      )}
      {problem?.retryAfterS && onRetry && <RetryCountdown seconds={problem.retryAfterS} onRetry={onRetry} />}
      {onRetry && <Button onClick={onRetry}>{t("TryAgain")}</Button>}
    </div>
  );
}

// A query's state as a page: its data once it is there (and while it is refreshed), else why not.
export function QueryView<T>({
  query,
  children,
  skeletonRows,
  ...context
}: ErrorContext & {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
  skeletonRows?: number;
}) {
  if (query.data !== undefined)
    return (
      <>
        {query.isFetching && !query.isPending && <div className="refreshing" aria-hidden="true" />}
        {query.isError && (
          <p className="stale" role="status">
            {t("NotUpToDateMessage", { message: query.error.message })} <Button onClick={() => void query.refetch()}>{t("TryAgain")}</Button>
          </p>
        )}
        {children(query.data)}
      </>
    );
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} {...context} />;
  return <Loading rows={skeletonRows ?? 8} />;
}
