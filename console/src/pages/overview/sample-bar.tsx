// Says that a device is a sample, where to see it at work, and ends it.
import "./sample.css";
import { useState } from "react";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "~/api/client";
import { mayCall, type Rights } from "~/api/may";
import { Button } from "~/ui/button";
import { showToast } from "~/ui/toast";
import { createSample, deleteSample, startSample, useIsReporting } from "./sample";

function useWork(): { isBusy: boolean; run: (work: () => Promise<void>) => void } {
  const [isBusy, setBusy] = useState(false);
  const run = (work: () => Promise<void>) => {
    setBusy(true);
    work()
      .catch((error: Error) => showToast(error.message, { tone: "bad" }))
      .finally(() => setBusy(false));
  };
  return { isBusy, run };
}

export function UseSample({ groupId, rights }: { groupId: string; rights: Rights }) {
  const { isBusy, run } = useWork();
  if (!mayCall(rights, "POST /device") || !mayCall(rights, "PUT /group")) return null;
  return (
    <div className="sample-offer">
      <p>
        <strong>No device at hand?</strong> A sample device reports made-up temperatures of a cold room every five seconds from this tab, after an hour of history. It is marked as a sample, and one click
        deletes it with its records.
      </p>
      <Button writes disabled={isBusy} onClick={() => run(() => createSample(groupId))}>
        Use a sample device
      </Button>
    </div>
  );
}

export function SampleBar({ device, rights, onDeleted }: { device: Schemas["Device"]; rights: Rights; onDeleted?: () => void }) {
  const { isBusy, run } = useWork();
  const isReporting = useIsReporting(device.deviceId);
  const params = { groupId: device.groupId };
  const remove = async () => {
    await deleteSample(device);
    showToast("The sample device is deleted with its records.");
    onDeleted?.();
  };
  return (
    <section className="sample-bar" aria-label="Sample device">
      <p>
        <strong>{device.name}</strong> is a sample: its values are made up.{" "}
        {isReporting ? "It reports every five seconds while this tab is open, for an hour at most." : "It does not report at the moment."}
      </p>
      <p className="sample-links">
        <Link to="/g/$groupId/live" params={params}>
          Watch it live
        </Link>
        <Link to="/d/$deviceId" params={{ deviceId: device.deviceId }} search={{ tab: "chart", from: "now-1h", to: "now" }}>
          See its chart
        </Link>
        {mayCall(rights, "POST /connector") && (
          <Link to="/g/$groupId/connectors/new" params={params}>
            Preview a filter with its records
          </Link>
        )}
      </p>
      <div className="form-actions">
        {!isReporting && mayCall(rights, "PUT /group") && (
          <Button writes disabled={isBusy} onClick={() => run(() => startSample(device))}>
            Report for an hour
          </Button>
        )}
        {mayCall(rights, "DELETE /device") && (
          <Button writes disabled={isBusy} onClick={() => run(remove)}>
            Delete the sample
          </Button>
        )}
      </div>
    </section>
  );
}
