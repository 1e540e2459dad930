// The fields of a contact point: used to edit one and to create one.
import type { ApiProblem } from "~/api/client";
import { TypeFields } from "~/pages/connectors/schema-fields";
import type { FormField } from "~/pages/connectors/schema-form";
import { TextArea, TextField, fieldError } from "~/ui/field";
import { Card } from "~/ui/page";
import { ROTA, ownFields, type ContactPointForm } from "./form";
import { RotaFields } from "./rota-fields";
import { t } from "~/messages/contacts";

export function ContactPointFields({ groupId, type, form, fields, problem, onChange }: {
  groupId: string;
  type: string;
  form: ContactPointForm;
  fields: readonly FormField[];
  problem: ApiProblem | null;
  onChange: (change: Partial<ContactPointForm>) => void;
}) {
  return (
    <>
      <Card title={t("Name")} className="form">
        <TextField label={t("Name")} error={fieldError(problem, "name")} value={form.name} onChange={(event) => onChange({ name: event.target.value })} />
        <TextArea label={t("Description")} error={fieldError(problem, "description")} rows={2} value={form.description} onChange={(event) => onChange({ description: event.target.value })} />
      </Card>
      <Card title={type === ROTA ? t("WhoMayUseIt") : t("ToWhom")} className="form">
        {fieldError(problem, "type") && <p className="field-error">{fieldError(problem, "type")}</p>}
        {type === "push" && <p className="ink-2">{t("ToEveryMemberOfGroupWho")}</p>}
        <TypeFields
          fields={ownFields(fields)}
          isShown={(each) => each.isRequired || each.path === "subgroups"}
          values={form.values}
          problem={problem}
          onChange={(path, value) => onChange({ values: { ...form.values, [path]: value } })}
        />
        {fieldError(problem, "params.subgroups") && <p className="field-error">{fieldError(problem, "params.subgroups")}</p>}
      </Card>
      {type === ROTA && <RotaFields groupId={groupId} form={form} problem={problem} onChange={onChange} />}
    </>
  );
}
