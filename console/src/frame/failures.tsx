import { Link, type ErrorComponentProps } from "@tanstack/react-router";
import { ErrorState } from "~/ui/state";

export function NotFound() {
  return (
    <div className="state">
      <p>There is no such page.</p>
      <Link to="/" className="button button-normal">
        Go to the start
      </Link>
    </div>
  );
}

export function PageFailed({ error, reset }: ErrorComponentProps) {
  return <ErrorState error={error} onRetry={reset} />;
}
