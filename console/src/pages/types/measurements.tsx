// What the devices of a type measure in a group: declared, or found in their records.
import { useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { Select, TextField } from "~/ui/field";
import { Form } from "~/ui/form";
import { Card } from "~/ui/page";
import { Empty, QueryView } from "~/ui/state";
import { useSubmission } from "~/ui/submit";

type Measurement = Schemas["GroupMeasurement"];
type Declared = Schemas["MeasurementInput"];

const CLASSES = [
  ["gauge", "Gauge: a number that goes up and down"],
  ["counter", "Counter: only grows, a smaller number is a reset"],
  ["amount", "Amount: what came since the last message"],
  ["state", "State: a word, or yes and no"],
] as const;
const KINDS = ["data", "event", "geoloc", "telemetry"] as const;
const FIELDS = ["name", "class", "path", "kind", "unit", "label", "decimals", "minimum", "maximum"] as const;

type Draft = Record<(typeof FIELDS)[number], string>;

const EMPTY: Draft = { name: "", class: "gauge", path: "/data/", kind: "data", unit: "", label: "", decimals: "", minimum: "", maximum: "" };

function draftOf(item: Partial<Measurement>): Draft {
  return Object.fromEntries(FIELDS.map((field) => [field, String(item[field] ?? EMPTY[field])])) as Draft;
}

function declaredOf(draft: Draft): Declared {
  const number = (text: string) => (text.trim() === "" ? undefined : Number(text));
  return {
    name: draft.name.trim(),
    path: draft.path.trim(),
    kind: draft.kind as Schemas["RecordKind"],
    class: draft.class as Schemas["MeasurementClass"],
    unit: draft.unit.trim() || undefined,
    label: draft.label.trim() || undefined,
    decimals: number(draft.decimals),
    minimum: number(draft.minimum),
    maximum: number(draft.maximum),
  };
}

// The list of the group is written as a whole: one of it is replaced, added or left out.
async function declare(type: string, groupId: string, before: string | undefined, next: Declared | null): Promise<void> {
  const present = (await read(api.GET("/device/type", { params: { query: { type, groupId } } }))).measurements ?? [];
  const others = present.filter((each) => each.name !== before && each.name !== next?.name);
  await read(api.PUT("/device/type/measurements", { body: { type, groupId, measurements: next ? [...others, next] : others } }));
}

function MeasurementDialog({ type, groupId, item, onClose }: { type: string; groupId: string; item: Measurement | null; onClose: () => void }) {
  const client = useQueryClient();
  const [draft, setDraft] = useState(() => draftOf(item ?? {}));
  const submission = useSubmission();
  const set = (field: keyof Draft) => (event: { target: { value: string } }) => setDraft({ ...draft, [field]: event.target.value });
  const before = item?.isDeclared ? item.name : undefined;
  const save = async (next: Declared | null) => {
    await declare(type, groupId, before, next);
    await client.invalidateQueries({ queryKey: ["group-measurements", groupId] });
    onClose();
  };
  const numeric = { inputMode: "decimal", type: "number", step: "any" } as const;
  const remove = (
    <Button look="danger" onClick={() => void submission.run(() => save(null))}>
      Remove the declaration
    </Button>
  );
  return (
    <Dialog title={item ? `Measurement ${item.name}` : "Declare a measurement"} onClose={onClose}>
      <Form submission={submission} onSubmit={() => save(declaredOf(draft))} submit="Save" extra={before !== undefined && remove}>
        <TextField label="Name" required maxLength={64} hint="Used in filters, charts and exports." value={draft.name} onChange={set("name")} />
        <TextField label="Label" hint="What people call it." value={draft.label} onChange={set("label")} />
        <Select label="Class" options={CLASSES} value={draft.class} onChange={set("class")} />
        <Select label="In records of" options={KINDS.map((each) => [each, each === "geoloc" ? "geolocation" : each] as const)} value={draft.kind} onChange={set("kind")} />
        <TextField label="Path" required className="input input-code" hint="A JSON pointer, as /data/soil/water." value={draft.path} onChange={set("path")} />
        <TextField label="Unit" value={draft.unit} onChange={set("unit")} />
        <TextField label="Decimals" {...numeric} step={1} min={0} max={12} value={draft.decimals} onChange={set("decimals")} />
        <TextField label="Smallest possible value" {...numeric} value={draft.minimum} onChange={set("minimum")} />
        <TextField label="Largest possible value" {...numeric} hint="Values beyond are counted as invalid." value={draft.maximum} onChange={set("maximum")} />
      </Form>
    </Dialog>
  );
}

function boundsOf({ minimum, maximum }: Measurement): string {
  if (minimum === undefined && maximum === undefined) return "–";
  return `${minimum ?? "…"} to ${maximum ?? "…"}`;
}

export function Measurements({ type, groupId }: { type: string; groupId: string }) {
  const mayDeclare = useMay(groupId, "PUT /device/type/measurements");
  const [open, setOpen] = useState<Measurement | "new" | null>(null);
  const query = useQuery({
    queryKey: ["group-measurements", groupId],
    queryFn: ({ signal }) => read(api.GET("/group/measurements", { params: { query: { groupId, subgroups: true } }, signal })),
  });
  return (
    <Card title="Measurements" note="of the group's devices and those below; what is declared holds for them">
      <QueryView query={query} operation="GET /group/measurements" groupId={groupId} skeletonRows={3}>
        {({ items }) => {
          const shown = items.filter((each) => each.type === type);
          if (shown.length === 0) return <Empty text="No values have been found in the records of these devices, and none are declared." />;
          return (
            <div className="scroll-x" tabIndex={0} role="region" aria-label="Measurements, as table">
              <table className="plain">
                <thead>
                  <tr>
                    {["Name", "Class", "Unit", "Possible", "Path", "From", "Devices"].map((each) => (
                      <th key={each} scope="col">
                        {each}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {shown.map((each) => (
                    <tr key={each.name}>
                      <th scope="row">
                        {mayDeclare ? (
                          <button type="button" className="link" onClick={() => setOpen(each)}>
                            {each.name}
                          </button>
                        ) : (
                          each.name
                        )}
                        {each.label && <span className="ink-2"> {each.label}</span>}
                      </th>
                      <td>{each.class}</td>
                      <td>{each.unit ?? "–"}</td>
                      <td>{boundsOf(each)}</td>
                      <td>
                        <code>{each.path}</code> of {each.kind}
                      </td>
                      <td>{each.isDeclared ? "declared" : "found"}</td>
                      <td className="number">
                        {each.devices.toLocaleString("en")}
                        {each.devicesAreMore ? "+" : ""}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          );
        }}
      </QueryView>
      {mayDeclare && (
        <div className="form-actions">
          <Button writes onClick={() => setOpen("new")}>
            Declare a measurement
          </Button>
        </div>
      )}
      {open !== null && <MeasurementDialog type={type} groupId={groupId} item={open === "new" ? null : open} onClose={() => setOpen(null)} />}
    </Card>
  );
}
