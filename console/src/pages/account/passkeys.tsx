import { useState, type FormEvent } from "react";
import { useQuery } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { queryClient } from "~/api/queries";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { TextField } from "~/ui/field";
import { Card } from "~/ui/page";
import { QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { hold } from "~/ui/toast";
import { wordsForError } from "~/pages/sign-in/failures";
import { registerPasskey } from "~/pages/sign-in/passkey";
import { refreshChanges } from "./changes";
import { t } from "~/messages/account";

const KEY = ["passkeys"];
const refresh = () => Promise.all([queryClient.invalidateQueries({ queryKey: KEY }), refreshChanges()]);

function Rename({ passkey, onClose }: { passkey: Schemas["PasskeyItem"]; onClose: () => void }) {
  const [name, setName] = useState(passkey.name);
  const [error, setError] = useState<string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    try {
      await read(api.PUT("/user/passkey", { body: { passkeyId: passkey.passkeyId, name: name.trim() } }));
      await refresh();
      onClose();
    } catch (failure) {
      setError(wordsForError(failure));
    }
  };
  return (
    <Dialog title={t("RenamePasskey")} onClose={onClose}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <TextField label={t("NameOfPasskey")} maxLength={64} required value={name} error={error ?? undefined} onChange={(event) => setName(event.target.value)} />
        <div className="form-actions">
          <Button type="submit" look="primary">
            {t("Save")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function Passkeys() {
  const query = useQuery({ queryKey: KEY, queryFn: ({ signal }) => read(api.GET("/user/passkeys", { signal })) });
  const [name, setName] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [renamed, setRenamed] = useState<Schemas["PasskeyItem"] | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const add = (event: FormEvent) => {
    event.preventDefault();
    setError(null);
    registerPasskey(name.trim())
      .then(() => setName(""))
      .then(() => void refresh())
      .catch((failure: unknown) => setError(wordsForError(failure)));
  };
  const remove = (passkey: Schemas["PasskeyItem"]) => {
    const show = () => setHidden((known) => new Set([...known].filter((id) => id !== passkey.passkeyId)));
    setHidden((known) => new Set(known).add(passkey.passkeyId));
    hold(
      t("DeletingPasskeyNameItsSessionsEnd", { name: passkey.name }),
      async () => {
        await read(api.DELETE("/user/passkey", { params: { query: { passkeyId: passkey.passkeyId } } }));
        await refresh();
      },
      show,
    );
  };
  return (
    <Card title={t("Passkeys")}>
      <QueryView query={query} skeletonRows={2}>
        {({ items }) => {
          const shown = items.filter((each) => !hidden.has(each.passkeyId));
          return shown.length === 0 ? (
            <p className="ink-2">{t("NoneWithOneYouSignIn")}</p>
          ) : (
            <ul className="account-list">
              {shown.map((passkey) => (
                <li key={passkey.passkeyId}>
                  <div>
                    <strong>{passkey.name}</strong>
                    <div className="ink-2">
                      {passkey.isSynced && "synced, "}
                      {passkey.seenAt ? (
                        <>
                          {t.rich("lastUsedTime", { time: <TimeText at={passkey.seenAt} precision="minute" /> })}
                        </>
                      ) : (
                        t("notUsedYet")
                      )}
                    </div>
                  </div>
                  <Button writes onClick={() => setRenamed(passkey)}>{t("Rename")}</Button>
                  <Button writes onClick={() => remove(passkey)}>{t("Delete")}</Button>
                </li>
              ))}
            </ul>
          );
        }}
      </QueryView>
      <form className="form" onSubmit={add}>
        <TextField label={t("NameOfThisDevice")} maxLength={64} required value={name} error={error ?? undefined} onChange={(event) => setName(event.target.value)} />
        <div className="form-actions">
          <Button writes type="submit">{t("AddPasskey")}</Button>
        </div>
      </form>
      {renamed && <Rename passkey={renamed} onClose={() => setRenamed(null)} />}
    </Card>
  );
}
