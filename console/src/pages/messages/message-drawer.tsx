import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Dialog } from "~/ui/dialog";
import { Facts } from "~/ui/page";
import { KindLabel, Pill } from "~/ui/pill";
import { QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { IdText } from "~/ui/copy";
import { AttemptsTable, MessageActions } from "./attempts";
import { DeviceName } from "./device-name";
import { Exchanges } from "./exchanges";
import { messageQuery } from "./queries";
import { isDelivered, stateWords } from "./words";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/messages";

export function MessageDrawer({ id, connectorName, onClose }: { id: string; connectorName: (id: string) => string; onClose: () => void }) {
  const query = useQuery(messageQuery(id));
  return (
    <Dialog
      side
      title={t("Delivery")}
      onClose={onClose}
      actions={
        <>
          {query.data && <MessageActions message={query.data} />}
          <Link to="/m/$messageId" params={{ messageId: id }} className="button button-primary">
            {t("Trace")}
          </Link>
        </>
      }
    >
      <QueryView query={query} noun={t("delivery")} skeletonRows={4}>
        {(message) => {
          const words = stateWords(message.state, message.attempts.filter((each) => !isDelivered(each)).length);
          return (
            <>
              <p>
                <Pill tone={words.tone}>{words.label}</Pill> {message.event.message && <span className="ink-2">{message.event.message}</span>}
              </p>
              <Facts
                rows={[
                  [t("Connector"), connectorName(message.event.connectorId)],
                  [t("Device"), message.event.deviceId ? <DeviceName key="device" deviceId={message.event.deviceId} /> : "–"],
                  [t("Kind"), <KindLabel key="kind" kind={message.event.kind ?? ""} />],
                  [t("QueuedFirst"), <TimeText key="at" at={message.createdAt} precision="millisecond" />],
                  ["webhook-id", <IdText key="id" id={id} />],
                  [t("SentAgain"), message.resent.toLocaleString(LOCALE)],
                ]}
              />
              <section className="drawer-section">
                <h3>{t("Attempts")}</h3>
                {message.attempts.length === 0 && !message.dueAt && <p className="ink-2">{t("NoneYet")}</p>}
                <AttemptsTable attempts={message.attempts} dueAt={message.dueAt} label={t("Attempts")} />
              </section>
              <Exchanges message={message} />
              {message.record && (
                <section className="drawer-section">
                  <h3>{t("Record")}</h3>
                  <pre>{JSON.stringify(message.record, null, 2)}</pre>
                </section>
              )}
            </>
          );
        }}
      </QueryView>
    </Dialog>
  );
}
