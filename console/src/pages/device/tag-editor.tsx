import { useState, type FormEvent } from "react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { parseTags } from "~/pages/devices/bulk";
import { showToast } from "~/ui/toast";
import type { Device } from "./queries";

export function TagEditor({ device, mayChange, onChanged }: { device: Device; mayChange: boolean; onChanged: (device: Device) => void }) {
  const client = useQueryClient();
  const [text, setText] = useState<string | null>(null);
  const tags = device.tags ?? [];
  const put = (next: readonly string[], ifUpdatedAt: string) =>
    read(api.PUT("/device", { body: { deviceId: device.deviceId, groupId: device.groupId, tags: [...next], ifUpdatedAt } }));
  const fail = (error: Error) => {
    showToast(error.message, { tone: "bad" });
    void client.invalidateQueries({ queryKey: ["device", device.deviceId] });
  };
  const change = useMutation({
    mutationFn: ({ next }: { next: readonly string[]; text: string }) => put(next, device.updatedAt),
    onSuccess: (changed, { text: words }) => {
      onChanged(changed);
      showToast(words, {
        action: { label: "Undo", run: () => put(tags, changed.updatedAt).then(onChanged).catch(fail) },
      });
    },
    onError: fail,
  });
  const add = (event: FormEvent) => {
    event.preventDefault();
    const added = parseTags(text ?? "").filter((tag) => !tags.includes(tag));
    setText(null);
    if (added.length > 0) change.mutate({ next: [...tags, ...added], text: `Added ${added.join(", ")} to ${device.name}` });
  };
  return (
    <span className="tag-editor">
      {tags.map((tag) => (
        <span key={tag} className="tag">
          {tag}
          {mayChange && (
            <button
              type="button"
              className="tag-remove"
              aria-label={`Remove the tag ${tag}`}
              onClick={() => change.mutate({ next: tags.filter((each) => each !== tag), text: `Removed ${tag} from ${device.name}` })}
            >
              ×
            </button>
          )}
        </span>
      ))}
      {mayChange &&
        (text === null ? (
          <button type="button" className="link" onClick={() => setText("")}>
            + tag
          </button>
        ) : (
          <form onSubmit={add}>
            <input
              className="input tag-input"
              aria-label="Add a tag"
              autoFocus
              value={text}
              onChange={(event) => setText(event.target.value)}
              onBlur={() => text.trim() === "" && setText(null)}
              onKeyDown={(event) => event.key === "Escape" && setText(null)}
            />
          </form>
        ))}
    </span>
  );
}
