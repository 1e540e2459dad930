import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ApiProblem } from "~/api/client";
import { SERVICE_URL } from "~/base-path";
import { messageQuery } from "~/pages/messages/queries";
import { Card, PageHeader } from "~/ui/page";
import { KindLabel } from "~/ui/pill";
import { IdText } from "~/ui/copy";
import { QueryView } from "~/ui/state";
import { momentOf } from "~/time";
import { curlOf } from "./steps";
import { ConnectorStep, TraceActions, TraceView, useTrace } from "./trace-view";
import { t } from "~/messages/trace";

const route = getRouteApi("/frame/m/$messageId");

// The record is gone, or not to be read here: the message and its attempts stay.
function MessageAlone({ messageId }: { messageId: string }) {
  const query = useQuery(messageQuery(messageId));
  return (
    <QueryView query={query} noun={t("delivery")} skeletonRows={4}>
      {(message) => (
        <>
          <PageHeader
            title={t("OneDeliveryAndEveryAttempt")}
            below={
              <>
                {t.rich("kindLabelIdTextItsRecordIsNot", { kindLabel: <KindLabel kind={message.event.kind ?? ""} />, idText: <IdText id={messageId} /> })}
              </>
            }
            actions={<TraceActions value={message} curl={curlOf(SERVICE_URL, `/connector/message?id=${messageId}`)} />}
          />
          <Card>
            <ol className="rail">
              <ConnectorStep name="Connector" connectorId={message.event.connectorId} message={message} first={momentOf(message.createdAt)} />
            </ol>
          </Card>
        </>
      )}
    </QueryView>
  );
}

export function MessageTracePage() {
  const { messageId } = route.useParams();
  const query = useTrace({ messageId });
  const isGone = query.error instanceof ApiProblem && (query.error.status === 404 || query.error.status === 403);
  return isGone && !query.data ? <MessageAlone messageId={messageId} /> : <TraceView query={query} />;
}
