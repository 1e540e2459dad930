// A test message: one request, now, and what comes back. It is no delivery.
import { useState } from "react";
import { useMutation } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { ExchangeSides } from "~/pages/messages/exchanges";
import { outcomeWords, phaseWords } from "~/pages/messages/words";
import { duration } from "~/time";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { Pill } from "~/ui/pill";
import { ErrorState, Loading } from "~/ui/state";
import type { Connector } from "./queries";
import { t } from "~/messages/connectors";

export type TestReply = Schemas["ConnectorTestReply"];

export function sendTest(body: Schemas["ConnectorTestInput"]): Promise<TestReply> {
  return read(api.POST("/connector/test", { body }));
}

export function TestResult({ reply }: { reply: TestReply }) {
  const { request, response, phase } = reply;
  return (
    <div className="form" role="status" aria-label={t("ResultOfTest")}>
      <p>
        <Pill tone={reply.delivered ? "good" : "bad"}>{reply.delivered ? "delivered" : t("notDelivered")}</Pill>{" "}
        {outcomeWords({ outcome: reply.outcome, ...(response ? { status: response.status } : {}) })} · {duration(reply.durationMs)}
        {!reply.delivered && phase && phase !== "complete" && ` ${t("failedWhilePhase", { phase: phaseWords(phase) })}`}
      </p>
      {reply.reason && <p className="ink-2">{reply.reason}</p>}
      {request && <ExchangeSides request={request} response={response} phase={phase} />}
    </div>
  );
}

export function SendTest({ connector }: { connector: Connector }) {
  const [isOpen, setOpen] = useState(false);
  const maySend = useMay(connector.groupId, "POST /connector/test");
  const test = useMutation({ mutationFn: () => sendTest({ groupId: connector.groupId, connectorId: connector.id }) });
  if (!maySend) return null;
  const open = () => {
    setOpen(true);
    test.mutate();
  };
  return (
    <>
      <Button writes onClick={open} title={t("SendsOneSampleToDestinationNow")}>
        {t("SendTest")}
      </Button>
      {isOpen && (
        <Dialog
          title={t("TestDelivery")}
          width="wide"
          onClose={() => setOpen(false)}
          actions={
            <Button writes onClick={() => test.mutate()} disabled={test.isPending}>
              {t("SendAgain")}
            </Button>
          }
        >
          <p className="ink-2">{t("sampleSentOnceItIsNeither")}</p>
          {test.isPending && <Loading rows={3} />}
          {test.error && <ErrorState error={test.error} operation="POST /connector/test" groupId={connector.groupId} />}
          {test.data && !test.isPending && <TestResult reply={test.data} />}
        </Dialog>
      )}
    </>
  );
}
