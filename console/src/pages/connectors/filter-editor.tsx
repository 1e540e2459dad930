import { useEffect, useState } from "react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useUnreachableSince } from "~/api/reachability";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { Button } from "~/ui/button";
import { fieldError } from "~/ui/field";
import { COMMAND, isCommand } from "~/ui/keys";
import { Card } from "~/ui/page";
import { ErrorState } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { MistakePlace, PreviewRows, PreviewSummary, WouldSend, chosenIndex, usePreview } from "./preview-panel";
import { refreshConnector, type Connector } from "./queries";

export function FilterEditor({ connector }: { connector: Connector }) {
  const { groupId, id } = connector;
  const saved = connector.messageFilter ?? "";
  const [draft, setDraft] = useState(saved);
  const [chosen, setChosen] = useState<number | null>(null);
  const client = useQueryClient();
  const mayWrite = useMay(groupId, "PUT /connector");
  const mayRead = useMay(groupId, "GET /group/records");
  // Somebody else's change is taken over as long as nothing was typed here.
  const [base, setBase] = useState(saved);
  useEffect(() => {
    if (draft === base) setDraft(saved);
    setBase(saved);
    // Only when the saved one changes.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [saved]);
  const isChanged = draft.trim() !== saved.trim();
  const preview = usePreview(groupId, id, mayWrite && isChanged ? { messageFilter: draft.trim() } : null, mayRead);
  const mistake = isChanged ? fieldError(preview.problem, "messageFilter") : undefined;
  const put = (messageFilter: string) => read(api.PUT("/connector", { body: { groupId, connectorId: id, messageFilter } }));
  const save = useMutation({
    // The filter before it is sent: the live stream may be faster than the response.
    mutationFn: async () => ({
      before: saved,
      changed: await read(api.PUT("/connector", { body: { groupId, connectorId: id, messageFilter: draft.trim(), ifUpdatedAt: connector.updatedAt } })),
    }),
    onSuccess: ({ before, changed }) => {
      refreshConnector(client, changed);
      void client.invalidateQueries({ queryKey: ["connector-preview"] });
      const undo = async () => refreshConnector(client, await put(before));
      showToast("The filter is saved.", { action: { label: "Undo", run: undo } });
    },
    onError: (error) => showToast(error.message, { tone: "bad" }),
  });
  const items = preview.items ?? [];
  const at = chosenIndex(items, chosen);
  const isUnreachable = useUnreachableSince() !== null;
  const canSave = isChanged && !mistake && !save.isPending && !isUnreachable;
  return (
    <div className="connector-filter">
      <Card title="Filter" note={mayWrite ? `CEL · tried as you type · ${COMMAND} Enter saves` : "CEL"}>
        <div className="form">
          <textarea
            className="input input-code filter-input"
            aria-label="Filter"
            aria-invalid={mistake ? true : undefined}
            placeholder="Empty: everything passes. For example message.values.celsius > 8"
            spellCheck={false}
            rows={Math.min(8, Math.max(2, draft.split("\n").length))}
            readOnly={!mayWrite}
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={(event) => {
              if (isCommand(event, "Enter") && canSave) save.mutate();
            }}
          />
          <MistakePlace expression={draft} message={mistake} />
          {mistake && <p className="ink-2">The saved filter stays in use.</p>}
          {isChanged && (
            <div className="form-actions">
              <Button look="primary" onClick={() => save.mutate()} disabledReason={mistake ? "It has a mistake." : undefined} disabled={save.isPending}>
                Save filter
              </Button>
              <Button onClick={() => setDraft(saved)}>Discard</Button>
            </div>
          )}
          {!mayRead ? (
            <p className="ink-2">You may not read records here, so that there is nothing to try it on.</p>
          ) : preview.error && !mistake ? (
            <ErrorState error={preview.error} operation="POST /connector/preview" groupId={groupId} />
          ) : (
            <>
              <PreviewSummary preview={preview} isChanged={isChanged} />
              {items.length > 0 && <PreviewRows items={items} chosen={at} onChoose={setChosen} isChanged={isChanged} />}
            </>
          )}
        </div>
      </Card>
      <WouldSend item={items[at]} />
    </div>
  );
}
