// Says that a device is a sample, where to see it at work, and ends it.
import "./sample.css";
import { useState } from "react";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "~/api/client";
import { mayCall, type Rights } from "~/api/may";
import { Button } from "~/ui/button";
import { showToast } from "~/ui/toast";
import { createSample, deleteSample, startSample, useIsReporting } from "./sample";
import { t } from "~/messages/overview";

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
        {t.rich("strongSampleDeviceReportsMadeUp", { strong: <strong>{t("NoDeviceAtHand")}</strong> })}
      </p>
      <Button writes disabled={isBusy} onClick={() => run(() => createSample(groupId))}>
        {t("UseSampleDevice")}
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
    showToast(t("sampleDeviceIsDeletedWithIts"));
    onDeleted?.();
  };
  return (
    <section className="sample-bar" aria-label={t("SampleDevice")}>
      <p>
        {t.rich("strongIsSampleItsValuesAre", { strong: <strong>{device.name}</strong>, value: isReporting ? t("ItReportsEveryFiveSecondsWhile") : t("ItDoesNotReportAtMoment") })}
      </p>
      <p className="sample-links">
        <Link to="/g/$groupId/live" params={params}>
          {t("WatchItLive")}
        </Link>
        <Link to="/d/$deviceId" params={{ deviceId: device.deviceId }} search={{ tab: "chart", from: "now-1h", to: "now" }}>
          {t("SeeItsChart")}
        </Link>
        {mayCall(rights, "POST /connector") && (
          <Link to="/g/$groupId/connectors/new" params={params}>
            {t("PreviewFilterWithItsRecords")}
          </Link>
        )}
      </p>
      <div className="form-actions">
        {!isReporting && mayCall(rights, "PUT /group") && (
          <Button writes disabled={isBusy} onClick={() => run(() => startSample(device))}>
            {t("ReportForHour")}
          </Button>
        )}
        {mayCall(rights, "DELETE /device") && (
          <Button writes disabled={isBusy} onClick={() => run(remove)}>
            {t("DeleteSample")}
          </Button>
        )}
      </div>
    </section>
  );
}
