// Creates a link to what a page shows. Its secret is shown once, and kept nowhere.
import { useState } from "react";
import { api, read, type Schemas } from "~/api/client";
import { queryClient } from "~/api/queries";
import { useMay } from "~/api/may";
import { parseOrigins } from "~/pages/shared/words";
import { Button } from "~/ui/button";
import { CopyButton } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { Checkbox, Select, TextArea, TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { useSubmission } from "~/ui/submit";
import { t } from "~/messages/shared";

export type Shareable = Pick<Schemas["ShareInput"], "chart" | "device" | "list" | "map">;

const DAYS = [
  ["1", "1 day"],
  ["7", "7 days"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "1 year"],
] as const;

function embedding(url: string, name: string): string {
  const title = name.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  return `<iframe src="${url}" title="${title}" width="800" height="480"></iframe>`;
}

function Created({ link, onClose }: { link: Schemas["NewShareLink"]; onClose: () => void }) {
  return (
    <>
      <p>
        {t.rich("WhoeverHasThisLinkSeesStrong", { strong: <strong>{link.name}</strong> })}
      </p>
      <p className="share-url">
        <code>{link.url}</code> <CopyButton text={link.url} label={t("CopyLink")} />
      </p>
      {link.origins.length > 0 && (
        <p className="share-url">
          <code>{embedding(link.url, link.name)}</code> <CopyButton text={embedding(link.url, link.name)} label={t("CopyFrame")} />
        </p>
      )}
      <div className="form-actions">
        <Button look="primary" onClick={onClose}>
          {t("Done")}
        </Button>
      </div>
    </>
  );
}

export function ShareDialog({ groupId, name: usual, about, view, onClose }: { groupId: string; name: string; about: string; view: Shareable; onClose: () => void }) {
  const [name, setName] = useState(usual);
  const [days, setDays] = useState("30");
  const [origins, setOrigins] = useState("");
  const [hasPosition, setPosition] = useState(false);
  const [link, setLink] = useState<Schemas["NewShareLink"] | null>(null);
  const submission = useSubmission(["name", "expiresInDays", "origins"]);
  const create = async () => {
    const device = view.device && { ...view.device, position: hasPosition };
    const body = { groupId, name, expiresInDays: Number(days), origins: parseOrigins(origins), ...view, ...(device ? { device } : {}) };
    setLink(await read(api.POST("/share", { body })));
    void queryClient.invalidateQueries({ queryKey: ["shares", groupId] });
  };
  return (
    <Dialog title={t("Share")} onClose={onClose}>
      {link ? (
        <Created link={link} onClose={onClose} />
      ) : (
        <Form submission={submission} onSubmit={create} submit={t("CreateLink")}>
          <p className="ink-2">{t("aboutNobodyWithLinkCanChange", { about })}</p>
          <TextField label={t("Title")} required value={name} error={submission.errorOf("name")} onChange={(event) => setName(event.target.value)} />
          <Select label={t("WorksFor")} options={DAYS} value={days} error={submission.errorOf("expiresInDays")} onChange={(event) => setDays(event.target.value)} />
          {view.device && <Checkbox label={t("WithItsLastPosition")} checked={hasPosition} onChange={(event) => setPosition(event.target.checked)} />}
          <TextArea
            label={t("MayBeEmbeddedBy")}
            hint="Origins of pages, such as https://www.example.com, one a line; without any, no page may."
            value={origins}
            error={submission.errorOf("origins")}
            onChange={(event) => setOrigins(event.target.value)}
          />
        </Form>
      )}
    </Dialog>
  );
}

// Where a page can be shared, for those who may.
export function ShareButton({ groupId, name, about, view }: { groupId: string; name: string; about: string; view: () => Shareable }) {
  const [shared, setShared] = useState<Shareable | null>(null);
  const may = useMay(groupId, "POST /share");
  if (!may) return null;
  return (
    <>
      <Button onClick={() => setShared(view())}>{t("Share")}</Button>
      {shared && <ShareDialog groupId={groupId} name={name} about={about} view={shared} onClose={() => setShared(null)} />}
    </>
  );
}
