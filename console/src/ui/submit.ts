// The state of a form that is sent: what was refused, by field and as a whole; busy meanwhile.
import { useCallback, useState } from "react";
import { ApiProblem } from "~/api/client";
import { fieldError } from "./field";

export interface Submission {
  isBusy: boolean;
  problem: ApiProblem | null;
  // What is wrong as a whole, where no field of the form says it.
  error: string | null;
  // What is wrong with one field, by its name on the wire.
  errorOf: (field: string) => string | undefined;
  run: (work: () => Promise<void>) => Promise<void>;
  // Forgets what was refused.
  reset: () => void;
}

export function useSubmission(fields: readonly string[] = [], wordsFor: (error: Error) => string = (error) => error.message): Submission {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const problem = failure instanceof ApiProblem ? failure : null;
  const run = useCallback(async (work: () => Promise<void>) => {
    setBusy(true);
    setFailure(null);
    try {
      await work();
    } catch (error) {
      setFailure(error instanceof Error ? error : new Error(String(error)));
    } finally {
      setBusy(false);
    }
  }, []);
  const isShownByField = fields.some((field) => fieldError(problem, field) !== undefined);
  return {
    isBusy,
    problem,
    error: failure && !isShownByField ? wordsFor(failure) : null,
    errorOf: (field) => fieldError(problem, field),
    run,
    reset: () => setFailure(null),
  };
}
