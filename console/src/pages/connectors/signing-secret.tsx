// The secret that signs the messages of a webhook: replaced while both sign, or the old one ended.
import { useState } from "react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { Button } from "~/ui/button";
import { CopyButton } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { Select } from "~/ui/field";
import { Card } from "~/ui/page";
import { ErrorState } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { hold, showToast } from "~/ui/toast";
import { parseParams } from "./params";
import { refreshConnector, type Connector } from "./queries";
import { t } from "~/messages/connectors";

const HOUR_MS = 3_600_000;
const KEEPS: readonly (readonly [string, string])[] = [
  ["24", "24 hours"],
  ["168", "7 days"],
  ["720", "30 days"],
  ["0", t("NotAtAll")],
];

export function signingSecretOf(connector: Pick<Connector, "type" | "params">): string | null {
  const { secret } = parseParams(connector.params);
  return connector.type === "http" && typeof secret === "string" && secret !== "" ? secret : null;
}

function RotateDialog({ connector, onClose }: { connector: Connector; onClose: () => void }) {
  const client = useQueryClient();
  const [hours, setHours] = useState("24");
  const rotate = useMutation({
    mutationFn: () => {
      const previousUntil = new Date(Date.now() + Number(hours) * HOUR_MS).toISOString();
      const { groupId, id: connectorId, updatedAt: ifUpdatedAt } = connector;
      return read(api.POST("/connector/rotateSecret", { body: { groupId, connectorId, previousUntil, ifUpdatedAt } }));
    },
    onSuccess: (changed) => refreshConnector(client, changed),
  });
  const made = rotate.data;
  if (made)
    return (
      <Dialog
        title={t("newSigningSecret")}
        onClose={onClose}
        actions={
          <Button look="primary" onClick={onClose}>
            {t("Done")}
          </Button>
        }
      >
        <p>{t("EveryDeliveryIsSignedWithIt")}</p>
        <p className="secret-made">
          <code>{signingSecretOf(made)}</code> <CopyButton text={signingSecretOf(made) ?? ""} label={t("Copy")} />
        </p>
        {made.previousSecretUntil ? (
          <p>
            {t.rich("oldSecretSignsAsWellUntil", { time: <TimeText at={made.previousSecretUntil} /> })}
          </p>
        ) : (
          <p>{t("oldSecretSignsNoMore")}</p>
        )}
      </Dialog>
    );
  return (
    <Dialog
      title={t("ReplaceSigningSecret")}
      onClose={onClose}
      actions={
        <Button look="primary" writes onClick={() => rotate.mutate()} disabled={rotate.isPending}>
          {t("ReplaceIt")}
        </Button>
      }
    >
      <p>{t("serviceMakesNewSecretAndSigns")}</p>
      <Select label={t("HowLongOldSecretSignsAs")} options={KEEPS} value={hours} onChange={(event) => setHours(event.target.value)} />
      {rotate.error && <ErrorState error={rotate.error} operation="POST /connector/rotateSecret" groupId={connector.groupId} />}
    </Dialog>
  );
}

export function SigningSecretCard({ connector }: { connector: Connector }) {
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const { groupId, id: connectorId, previousSecretUntil } = connector;
  const end = () =>
    hold(t("oldSigningSecretWillSignNo"), async () => {
      refreshConnector(client, await read(api.POST("/connector/endSecretRotation", { body: { groupId, connectorId } })));
      showToast(t("OnlyNewSigningSecretSignsNow"));
    });
  // The dialog stays while the secret that it shows is what made this card change.
  if (!signingSecretOf(connector) && !isOpen) return null;
  return (
    <Card title={t("SigningSecret")} note={t("StandardWebhooks")} className="form">
      {previousSecretUntil ? (
        <>
          <p>
            {t.rich("ItIsBeingReplacedOldSecret", { time: <TimeText at={previousSecretUntil} /> })}
          </p>
          <div>
            <Button writes onClick={end}>
              {t("EndOldSecretNow")}
            </Button>
          </div>
        </>
      ) : (
        <>
          <p className="ink-2">{t("EachDeliveryIsSignedWithSecret")}</p>
          <div>
            <Button writes onClick={() => setOpen(true)}>
              {t("ReplaceSecret")}
            </Button>
          </div>
        </>
      )}
      {isOpen && <RotateDialog connector={connector} onClose={() => setOpen(false)} />}
    </Card>
  );
}
