// The configuration policy of a group or of a device type, as JSON.
import { useQueryClient } from "@tanstack/react-query";
import type { Schemas } from "~/api/client";
import { fetchNewest } from "~/api/queries";
import { EditForm, useEdit } from "./edit";
import { TextArea } from "./field";
import { differing } from "./versions";

type Policy = Schemas["ConfigurationPolicy"];

function parse(text: string): Policy["policy"] {
  try {
    return JSON.parse(text) as Policy["policy"];
  } catch (error) {
    throw new Error(`This is no JSON: ${(error as Error).message}`);
  }
}

// The version of a policy that nobody has set yet.
const NEVER_SET = "0";
const textOf = (found: Policy) => JSON.stringify(found.policy, null, 2);

export interface PolicyQuery {
  queryKey: readonly string[];
  queryFn: (context: { signal: AbortSignal }) => Promise<Policy>;
}

interface PolicyProps {
  found: Policy;
  query: PolicyQuery;
  explanation: string;
  put: (policy: Policy["policy"], ifUpdatedAt: string) => Promise<Policy>;
}

function Editable({ found, query, explanation, put }: PolicyProps) {
  const client = useQueryClient();
  const edit = useEdit({
    stored: found,
    formOf: (version) => ({ text: textOf(version) }),
    put: ({ text }, before) => put(parse(text), before.updatedAt ?? NEVER_SET),
    restore: ({ policy }, before) => put(policy, before.updatedAt ?? NEVER_SET),
    readNewest: () => fetchNewest(query),
    onStored: (version) => void client.setQueryData(query.queryKey, version),
    compare: (mine, theirs) => differing([{ label: "Policy", mine: mine.text, theirs: theirs.text }]),
    savedText: "The policy is saved. Devices that differ are listed as drift.",
    fields: ["policy"],
  });
  return (
    <EditForm edit={edit} submit="Save the policy" look="normal">
      <TextArea label="Policy, as JSON" isCode rows={8} hint={explanation} value={edit.form.text} error={edit.submission.errorOf("policy")} onChange={(event) => edit.change({ text: event.target.value })} />
    </EditForm>
  );
}

export function PolicyForm({ isEditable, ...props }: PolicyProps & { isEditable: boolean }) {
  if (isEditable) return <Editable {...props} />;
  return (
    <>
      <p className="ink-2">{props.explanation}</p>
      <pre>{textOf(props.found)}</pre>
    </>
  );
}
