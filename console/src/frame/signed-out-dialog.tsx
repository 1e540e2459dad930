// The session has ended: the page stays as it was, and goes on after signing in again.
import { useState, type FormEvent } from "react";
import { ApiProblem, CONSOLE_HEADERS, api, read } from "~/api/client";
import { queryClient, sessionQuery } from "~/api/queries";
import { CONSOLE_PATH } from "~/base-path";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { TextField } from "~/ui/field";

export function SignedOutDialog({ onSignedIn }: { onSignedIn: () => void }) {
  const session = queryClient.getQueryData(sessionQuery.queryKey);
  const [email, setEmail] = useState(session?.user.email ?? "");
  const [password, setPassword] = useState("");
  const [error, setError] = useState<string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    try {
      const fresh = await read(api.POST("/session", { params: { header: CONSOLE_HEADERS }, body: { email, password } }));
      queryClient.setQueryData(sessionQuery.queryKey, fresh);
      onSignedIn();
    } catch (problem) {
      setError(problem instanceof ApiProblem ? problem.message : "The service cannot be reached.");
    }
  };
  return (
    <Dialog title="Your session has ended" onClose={() => {}}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <p>Sign in again to go on where you were.</p>
        <TextField label="Email" type="email" autoComplete="username" value={email} onChange={(event) => setEmail(event.target.value)} />
        <TextField
          label="Password"
          type="password"
          autoComplete="current-password"
          value={password}
          error={error ?? undefined}
          onChange={(event) => setPassword(event.target.value)}
        />
        <div className="form-actions">
          <Button look="primary" type="submit">
            Sign in
          </Button>
          <Button onClick={() => window.open(`${CONSOLE_PATH}/sign-in`, "_blank")}>Another way to sign in</Button>
          <Button
            look="quiet"
            onClick={() => {
              void queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 }).then((found) => found && onSignedIn());
            }}
          >
            I have signed in
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
