// For operators: whether the service is ready and why not, how much waits, who there is.
import { useState } from "react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api, fetchRaw, read } from "~/api/client";
import { queryClient, sessionQuery, settingsQuery } from "~/api/queries";
import { BASE_PATH } from "~/base-path";
import { Button } from "~/ui/button";
import { IdText } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { Card, Facts, PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { QueryView } from "~/ui/state";
import { useSubmission } from "~/ui/submit";
import { TimeText } from "~/ui/time-text";
import { showToast } from "~/ui/toast";
import { duration } from "~/time";
import { bytes, parseExposition, total, type Sample } from "./exposition";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/platform";

const REFRESH_MS = 5_000;
const USERS = 100;

const readyQuery = {
  queryKey: ["ready"],
  // 503 is an answer as well: it says why.
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    const response = await fetch(`${BASE_PATH}/health/ready`, { signal });
    const body = (await response.json()) as { status?: string; reason?: string };
    return { isReady: response.ok, reason: body.reason ?? null };
  },
  refetchInterval: REFRESH_MS,
};

const metricsQuery = {
  queryKey: ["metrics"],
  queryFn: async ({ signal }: { signal: AbortSignal }) => parseExposition(await (await fetchRaw("/metrics", { signal })).text()),
  refetchInterval: REFRESH_MS,
};

function figure(samples: readonly Sample[], name: string, labels: Record<string, string>, format: (value: number) => string): string {
  const value = total(samples, name, labels);
  return value === null ? t("notKnown") : format(value);
}

const count = (value: number) => value.toLocaleString(LOCALE);

function Figures({ samples }: { samples: readonly Sample[] }) {
  const started = total(samples, "process_start_time_seconds");
  const of = (name: string, format: (value: number) => string = count, labels: Record<string, string> = {}) => figure(samples, name, labels, format);
  const states = [...new Set(samples.filter((each) => each.name === "longwire_deliveries").map((each) => each.labels.state ?? ""))];
  return (
    <div className="cards">
      <Card title={t("Records")}>
        <Facts
          rows={[
            [t("StoredSinceStart"), of("longwire_records_stored_total")],
            [t("WaitingToBeWritten"), of("longwire_ingest_queued_records")],
            [t("UplinksRejected"), of("longwire_network_messages_rejected_total")],
            [t("LiveListeners"), of("longwire_live_listeners")],
          ]}
        />
      </Card>
      <Card title={t("Deliveries")}>
        <Facts
          rows={[
            ...states.map((state) => [`${state.charAt(0).toUpperCase()}${state.slice(1)}`, of("longwire_deliveries", count, { state })] as const),
            [t("OldestThatWaits"), of("longwire_delivery_oldest_seconds", (seconds) => (seconds > 0 ? duration(seconds * 1_000) : "none"))],
            [t("AttemptsSinceStart"), of("longwire_delivery_attempts_total")],
          ]}
        />
      </Card>
      <Card title={t("Machine")}>
        <Facts
          rows={[
            [t("Memory"), of("process_resident_memory_bytes", bytes)],
            [t("Database"), of("longwire_database_bytes", bytes)],
            [t("DiskFree"), of("longwire_disk_free_bytes", bytes)],
            [t("OpenFiles"), t("ofOfOf2", { of: of("process_open_fds"), of2: of("process_max_fds") })],
            [t("UpSince"), <TimeText at={started} precision="minute" />],
          ]}
        />
      </Card>
      <Card title={t("Errors")}>
        <Facts
          rows={[
            [t("ServerErrors"), of("longwire_server_errors_total")],
            [t("BackgroundTasksFailing"), of("longwire_background_tasks_failing")],
            [t("FailuresOfBackgroundTasks"), of("longwire_background_task_failures_total")],
            [t("ConnectionsRejected"), of("longwire_connections_rejected_total")],
          ]}
        />
      </Card>
    </div>
  );
}

function NewUser({ onClose }: { onClose: () => void }) {
  const [email, setEmail] = useState("");
  const [firstName, setFirstName] = useState("");
  const [lastName, setLastName] = useState("");
  const submission = useSubmission(["email", "lastName", "firstname"]);
  const create = async () => {
    await read(api.POST("/user", { body: { email, lastName, ...(firstName && { firstname: firstName }) } }));
    await queryClient.invalidateQueries({ queryKey: ["users"] });
    showToast(t("emailIsCreatedTheySignIn", { email }));
    onClose();
  };
  return (
    <Dialog title={t("NewUser")} onClose={onClose}>
      <Form submission={submission} onSubmit={create} submit={t("Create")}>
        <TextField label={t("Email")} type="email" required autoFocus value={email} error={submission.errorOf("email")} onChange={(event) => setEmail(event.target.value)} />
        <TextField label={t("FirstName")} value={firstName} error={submission.errorOf("firstname")} onChange={(event) => setFirstName(event.target.value)} />
        <TextField label={t("LastName")} required value={lastName} error={submission.errorOf("lastName")} onChange={(event) => setLastName(event.target.value)} />
      </Form>
    </Dialog>
  );
}

function Users() {
  const [isCreating, setCreating] = useState(false);
  const users = useInfiniteQuery({
    queryKey: ["users"],
    queryFn: ({ signal, pageParam }) => read(api.GET("/users", { params: { query: { limit: USERS, ...(pageParam && { nextToken: pageParam }) } }, signal })),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextToken ?? undefined,
  });
  return (
    <Card title={t("Users")} note={<Button writes onClick={() => setCreating(true)}>{t("NewUser")}</Button>}>
      <QueryView query={users} skeletonRows={3}>
        {({ pages }) => (
          <table className="plain">
            <thead>
              <tr>
                <th>{t("Person")}</th>
                <th>{t("UserId")}</th>
                <th>{t("LastSeen")}</th>
              </tr>
            </thead>
            <tbody>
              {pages
                .flatMap((page) => page.items)
                .map((user) => (
                  <tr key={user.id}>
                    <td>
                      {user.name ?? user.email} {user.name && <span className="ink-2">{user.email}</span>}
                    </td>
                    <td>{user.id && <IdText id={user.id} />}</td>
                    <td>
                      <TimeText at={user.seenAt} precision="minute" withAgo />
                    </td>
                  </tr>
                ))}
            </tbody>
          </table>
        )}
      </QueryView>
      {users.hasNextPage && <Button onClick={() => void users.fetchNextPage()}>{t("ShowMore")}</Button>}
      {isCreating && <NewUser onClose={() => setCreating(false)} />}
    </Card>
  );
}

export function PlatformPage() {
  const session = useQuery(sessionQuery);
  const settings = useQuery(settingsQuery);
  const isOperator = session.data?.isOperator ?? false;
  const ready = useQuery(readyQuery);
  const metrics = useQuery({ ...metricsQuery, enabled: isOperator });
  const state = ready.data && (ready.data.isReady ? <Pill tone="good">{t("ready")}</Pill> : <Pill tone="bad">{t("notReadyReason", { reason: ready.data.reason ?? t("noReasonGiven") })}</Pill>);
  if (session.data && !isOperator)
    return (
      <>
        <PageHeader title={t("Platform")} />
        <div className="state">
          <p>{t("ThisPageIsForThoseWho")}</p>
        </div>
      </>
    );
  return (
    <>
      <PageHeader title={t("Platform")} state={state} below={settings.data ? t("longwireVersionFiguresOfProcessThat", { version: settings.data.version }) : " "} />
      <QueryView query={metrics} skeletonRows={7}>{(samples) => <Figures samples={samples} />}</QueryView>
      <Users />
    </>
  );
}
