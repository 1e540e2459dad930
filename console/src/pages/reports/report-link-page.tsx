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
import { LOCALE } from "~/i18n";
import { t } from "~/messages/reports";
import "~/pages/sign-in/sign-in.css";

type ReportDownload = Schemas["ReportDownload"];

function HowToGetAnother() {
  return (
    <p className="ink-2">
      {t.rich("AskWhoeverMayChangeNotificationsOf", { link: <a href={CONSOLE_PATH}>{t("openConsole")}</a> })}
    </p>
  );
}

function Expired() {
  return (
    <>
      <p role="alert">
        {t.rich("strongLinkWorksForSevenDays", { strong: <strong>{t("ThisLinkIsInvalidOrHas")}</strong> })}
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
        <strong>{found.name ?? t("Report")}</strong>
      </p>
      <Facts
        rows={[
          [t("Content"), CONTENT_LABELS[found.content]],
          [t("Period"), `${periodWords(found)} (${found.timezone})`],
          [t("File"), `${found.fileName}, ${found.rows.toLocaleString(LOCALE)} ${t("rows", { count: found.rows })}, ${bytes(found.bytes)}`],
          [t("AvailableUntil"), <TimeText key="until" at={found.expiresAt} precision="minute" />],
        ]}
      />
      <Button look="primary" disabledReason={download.isPending ? t("OneMoment") : undefined} onClick={() => download.mutate()}>
        {download.isPending ? t("Downloading") : t("Download")}
      </Button>
      <p role="status" className="ink-2">
        {download.isSuccess && t("fileNameIsSaved", { fileName: found.fileName })}
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
    <QueryView query={query} skeletonRows={4} noun={t("report")}>
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
        <p className="brand">{t("longwire")}</p>
        <h1>{t("Report")}</h1>
        {secret === null && (
          <>
            <p role="alert">{t("addressOfThisPageHasNo")}</p>
            <HowToGetAnother />
          </>
        )}
        {secret && <Opened key={secret} secret={secret} />}
      </div>
    </main>
  );
}
