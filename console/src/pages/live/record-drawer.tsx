// One record: when, whose, its values, the raw message, and where it went.
import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import type { Arrival } from "~/live/protocol";
import { CopyButton, IdText } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { Facts } from "~/ui/page";
import { KindLabel, Pill, type Tone } from "~/ui/pill";
import { ErrorState, Loading } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { nameOr } from "~/ui/name";
import { valuesOf } from "./summary";
import { t } from "~/messages/live";

export function RecordDrawer({ recordId, arrival, onClose }: { recordId: string; arrival: Arrival | null; onClose: () => void }) {
  const trace = useQuery({
    queryKey: ["trace", recordId],
    queryFn: ({ signal }) => read(api.GET("/record/trace", { params: { query: { recordId } }, signal })),
  });
  const shown = arrival ?? trace.data?.arrival ?? null;
  return (
    <Dialog
      side
      title={shown?.deviceName || t("Record")}
      onClose={onClose}
      actions={
        <Link to="/r/$recordId" params={{ recordId }} className="button button-primary">
          {t("OpenTrace")}
        </Link>
      }
    >
      {shown ? <RecordParts arrival={shown}>{trace.data && <WhereItWent trace={trace.data} />}</RecordParts> : trace.isError ? <ErrorState error={trace.error} noun={t("record")} onRetry={() => void trace.refetch()} /> : <Loading rows={6} />}
    </Dialog>
  );
}

function RecordParts({ arrival, children }: { arrival: Arrival; children: ReactNode }) {
  const { record } = arrival;
  const fields = record as unknown as Record<string, unknown>;
  const raw = typeof fields.__raw === "string" ? fields.__raw : null;
  const json = JSON.stringify(record, null, 2);
  const values = valuesOf(arrival);
  return (
    <>
      <Facts
        rows={[
          [t("Arrived"), <TimeText key="t" at={arrival.arrivedAt} precision="millisecond" />],
          [t("Timestamp"), <TimeText key="t" at={record.timestamp} precision="millisecond" />],
          [t("Kind"), <KindLabel key="k" kind={arrival.kind} />],
          [
            t("Device"),
            <Link key="d" to="/d/$deviceId" params={{ deviceId: record.deviceId }}>
              {arrival.deviceName || record.deviceId}
            </Link>,
          ],
          [t("Source"), arrival.source],
          [t("Record"), <IdText key="i" id={arrival.id} />],
        ]}
      />
      <h3>{t("Values")}</h3>
      {values.length > 0 ? (
        <table className="plain">
          <tbody>
            {values.map(([name, value]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td className="number">{value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <p className="ink-2">{t("None")}</p>
      )}
      {children}
      {raw && (
        <>
          <h3>
            {t("Raw")}{" "}<CopyButton text={raw} />
          </h3>
          <pre>{raw}</pre>
        </>
      )}
      <h3>
        {t("JSON")}{" "}<CopyButton text={json} />
      </h3>
      <pre>{json}</pre>
    </>
  );
}

const TONES: Readonly<Record<string, Tone>> = { succeeded: "good", failed: "bad", expired: "bad", cancelled: "idle" };

function WhereItWent({ trace }: { trace: Schemas["Trace"] }) {
  const taken = trace.connectors.filter((each) => each.message);
  return (
    <>
      <h3>{t("Deliveries")}</h3>
      {taken.length === 0 && <p className="ink-2">{t("NoConnectorThatYouCanSee")}</p>}
      <ul className="live-went">
        {taken.map((each) => (
          <li key={each.connectorId}>
            <span>{nameOr(each.name, each.connectorId)}</span>
            <Pill tone={TONES[String(each.message?.state)] ?? "warn"}>{String(each.message?.state)}</Pill>
          </li>
        ))}
      </ul>
    </>
  );
}
