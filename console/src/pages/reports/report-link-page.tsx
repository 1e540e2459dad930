// What the link in a mail of a report leads to, without signing in. Its secret is in the fragment, which
// no request carries; it is taken out of the address at once, and sent as a bearer token only.
import { useEffect } from "react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { ApiProblem, api, fetchRaw, read, Unreachable, type Schemas } from "~/api/client";
import { CONSOLE_PATH } from "~/base-path";
import { bearer, useFragmentSecret } from "~/fragment-secret";
import { bytes } from "~/pages/platform/exposition";
import { Button } from "~/ui/button";
import { saveBlob } from "~/ui/export";
import { Facts } from "~/ui/page";
import { QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { CONTENT_LABELS, periodWords, secretOf } from "./words";
import "~/pages/sign-in/sign-in.css";

type ReportDownload = Schemas["ReportDownload"];

function HowToGetAnother() {
  return (
    <p className="ink-2">
      Ask whoever may change the notifications of the group to send the report again. If that is you, <a href={CONSOLE_PATH}>open the console</a>.
    </p>
  );
}

function Expired() {
  return (
    <>
      <p role="alert">
        <strong>This link is invalid or has expired.</strong> A link works for seven days, and no longer when the report is deleted, or when who created it may not read this any more.
      </p>
      <HowToGetAnother />
    </>
  );
}

async function save(secret: string, { fileName }: ReportDownload): Promise<void> {
  const response = await fetchRaw("/report/file", { headers: bearer(secret) });
  const content = await response.blob().catch(() => {
    throw new Unreachable();
  });
  saveBlob([content], fileName, content.type);
}

function Download({ secret, found }: { secret: string; found: ReportDownload }) {
  const download = useMutation({ mutationFn: () => save(secret, found) });
  if (isExpired(download.error)) return <Expired />;
  return (
    <>
      <p>
        <strong>{found.name ?? "Report"}</strong>
      </p>
      <Facts
        rows={[
          ["Content", CONTENT_LABELS[found.content]],
          ["Period", `${periodWords(found)} (${found.timezone})`],
          ["File", `${found.fileName}, ${found.rows.toLocaleString("en")} ${found.rows === 1 ? "row" : "rows"}, ${bytes(found.bytes)}`],
          ["Available until", <TimeText key="until" at={found.expiresAt} precision="minute" />],
        ]}
      />
      <Button look="primary" disabledReason={download.isPending ? "One moment" : undefined} onClick={() => download.mutate()}>
        {download.isPending ? "Downloading" : "Download"}
      </Button>
      <p role="status" className="ink-2">
        {download.isSuccess && `${found.fileName} is saved.`}
      </p>
      {download.error && (
        <p className="sign-in-error" role="alert">
          {download.error.message}
        </p>
      )}
    </>
  );
}

function isExpired(error: unknown): boolean {
  return error instanceof ApiProblem && error.status === 401;
}

function Opened({ secret }: { secret: string }) {
  const query = useQuery({
    queryKey: ["report-link", secret],
    queryFn: ({ signal }) => read(api.GET("/report/link", { headers: bearer(secret), signal })),
  });
  if (isExpired(query.error)) return <Expired />;
  return (
    <QueryView query={query} skeletonRows={4} noun="report">
      {(found) => <Download secret={secret} found={found} />}
    </QueryView>
  );
}

export function ReportLinkPage() {
  const secret = useFragmentSecret(secretOf, false);
  useEffect(() => {
    document.title = "Report · longwire";
  }, []);
  return (
    <main className="sign-in">
      <div className="sign-in-box card">
        <p className="brand">longwire</p>
        <h1>Report</h1>
        {secret === null && (
          <>
            <p role="alert">The address of this page has no link to a report: open the link in the mail once more.</p>
            <HowToGetAnother />
          </>
        )}
        {secret && <Opened key={secret} secret={secret} />}
      </div>
    </main>
  );
}
