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

const HOUR_MS = 3_600_000;
const KEEPS: readonly (readonly [string, string])[] = [
  ["24", "24 hours"],
  ["168", "7 days"],
  ["720", "30 days"],
  ["0", "Not at all"],
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
        title="The new signing secret"
        onClose={onClose}
        actions={
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        }
      >
        <p>Every delivery is signed with it from now on. Give it to the receiver; it is not shown here again.</p>
        <p className="secret-made">
          <code>{signingSecretOf(made)}</code> <CopyButton text={signingSecretOf(made) ?? ""} label="Copy" />
        </p>
        {made.previousSecretUntil ? (
          <p>
            The old secret signs as well until <TimeText at={made.previousSecretUntil} />. Until then a receiver may verify with either.
          </p>
        ) : (
          <p>The old secret signs no more.</p>
        )}
      </Dialog>
    );
  return (
    <Dialog
      title="Replace the signing secret?"
      onClose={onClose}
      actions={
        <Button look="primary" writes onClick={() => rotate.mutate()} disabled={rotate.isPending}>
          Replace it
        </Button>
      }
    >
      <p>The service makes a new secret and signs with both for a time, so that the receiver can change without losing a delivery.</p>
      <Select label="How long the old secret signs as well" options={KEEPS} value={hours} onChange={(event) => setHours(event.target.value)} />
      {rotate.error && <ErrorState error={rotate.error} operation="POST /connector/rotateSecret" groupId={connector.groupId} />}
    </Dialog>
  );
}

export function SigningSecretCard({ connector }: { connector: Connector }) {
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const { groupId, id: connectorId, previousSecretUntil } = connector;
  const end = () =>
    hold("The old signing secret will sign no more.", async () => {
      refreshConnector(client, await read(api.POST("/connector/endSecretRotation", { body: { groupId, connectorId } })));
      showToast("Only the new signing secret signs now.");
    });
  // The dialog stays while the secret that it shows is what made this card change.
  if (!signingSecretOf(connector) && !isOpen) return null;
  return (
    <Card title="Signing secret" note="Standard Webhooks" className="form">
      {previousSecretUntil ? (
        <>
          <p>
            It is being replaced. The old secret signs as well until <TimeText at={previousSecretUntil} />.
          </p>
          <div>
            <Button writes onClick={end}>
              End the old secret now
            </Button>
          </div>
        </>
      ) : (
        <>
          <p className="ink-2">Each delivery is signed with a secret that the receiver knows. Replace it now and then, and when somebody has seen it.</p>
          <div>
            <Button writes onClick={() => setOpen(true)}>
              Replace the secret…
            </Button>
          </div>
        </>
      )}
      {isOpen && <RotateDialog connector={connector} onClose={() => setOpen(false)} />}
    </Card>
  );
}
