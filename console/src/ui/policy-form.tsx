// The configuration policy of a group or of a device type, as JSON.
import { useState } from "react";
import type { Schemas } from "~/api/client";
import { TextArea } from "./field";
import { Form } from "./form";
import { useSubmission } from "./submit";
import { showToast } from "./toast";

type Policy = Schemas["ConfigurationPolicy"];

export function PolicyForm({
  found,
  explanation,
  isEditable,
  onSave,
}: {
  found: Policy;
  explanation: string;
  isEditable: boolean;
  onSave: (policy: Policy["policy"], ifUpdatedAt: string | undefined) => Promise<void>;
}) {
  const [text, setText] = useState(JSON.stringify(found.policy, null, 2));
  const submission = useSubmission(["policy"]);
  const save = async () => {
    let policy: Policy["policy"];
    try {
      policy = JSON.parse(text) as Policy["policy"];
    } catch (error) {
      throw new Error(`This is no JSON: ${(error as Error).message}`);
    }
    await onSave(policy, found.updatedAt);
    showToast("The policy is saved. Devices that differ are listed as drift.");
  };
  if (!isEditable)
    return (
      <>
        <p className="ink-2">{explanation}</p>
        <pre>{text}</pre>
      </>
    );
  return (
    <Form submission={submission} onSubmit={save} submit="Save the policy" look="normal">
      <TextArea label="Policy, as JSON" isCode rows={8} hint={explanation} value={text} error={submission.errorOf("policy")} onChange={(event) => setText(event.target.value)} />
    </Form>
  );
}
