// The configuration policy of a group or of a device type.
import { useQueryClient } from "@tanstack/react-query";
import type { Schemas } from "~/api/client";
import { fetchNewest } from "~/api/queries";
import { configurationOf, formOf, labelOf, mistakeIn, type ConfigurationForm, type KnownValue } from "./configuration";
import { ConfigurationFacts, ConfigurationFields } from "./configuration-fields";
import { EditForm, useEdit } from "./edit";
import { differing, type VersionRow } from "./versions";
import { t } from "~/messages/ui";

type Policy = Schemas["ConfigurationPolicy"];

// The version of a policy that nobody has set yet.
const NEVER_SET = "0";

export interface PolicyQuery {
  queryKey: readonly string[];
  queryFn: (context: { signal: AbortSignal }) => Promise<Policy>;
}

interface PolicyProps {
  found: Policy;
  query: PolicyQuery;
  explanation: string;
  // The values that the types of devices have.
  known: readonly KnownValue[];
  put: (policy: Policy["policy"], ifUpdatedAt: string) => Promise<Policy>;
}

// Two versions of a configuration, value by value.
export function compareConfigurations(mine: ConfigurationForm, theirs: ConfigurationForm): VersionRow[] {
  const names = [...new Set([...Object.keys(mine.values), ...Object.keys(theirs.values)])];
  const rows = names.map((name) => ({ label: labelOf(name), mine: mine.values[name]?.text ?? "", theirs: theirs.values[name]?.text ?? "" }));
  return differing([...rows, { label: t("OtherValues"), mine: mine.other, theirs: theirs.other }]);
}

function Editable({ found, query, explanation, known, put }: PolicyProps) {
  const client = useQueryClient();
  const edit = useEdit({
    stored: found,
    formOf: (version) => formOf(version.policy as Record<string, unknown>, known),
    put: (form, before) => put(configurationOf(form) as Policy["policy"], before.updatedAt ?? NEVER_SET),
    restore: ({ policy }, before) => put(policy, before.updatedAt ?? NEVER_SET),
    readNewest: () => fetchNewest(query),
    onStored: (version) => void client.setQueryData(query.queryKey, version),
    compare: compareConfigurations,
    savedText: t("policyIsSavedDevicesThatDiffer"),
    fields: ["policy"],
  });
  return (
    <EditForm edit={edit} submit={t("SavePolicy")} look="normal" reason={mistakeIn(edit.form) ?? undefined}>
      <p className="field-hint">{explanation}</p>
      <ConfigurationFields form={edit.form} known={known} jsonLabel={t("PolicyAsJSON")} error={edit.submission.errorOf("policy")} onChange={edit.change} />
    </EditForm>
  );
}

export function PolicyForm({ isEditable, ...props }: PolicyProps & { isEditable: boolean }) {
  if (isEditable) return <Editable {...props} />;
  return (
    <>
      <p className="ink-2">{props.explanation}</p>
      <ConfigurationFacts configuration={props.found.policy as Record<string, unknown>} />
    </>
  );
}
