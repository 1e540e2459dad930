import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Switch } from "~/pages/connectors/toggle";
import { showToast } from "~/ui/toast";
import { nameOr } from "~/ui/name";
import { refreshReport, updateReport, type Report } from "./queries";
import { t } from "~/messages/reports";

const DISABLED_MEANS = t("WhileItIsDisabledNothingIs");

// At once, with undo.
export function ReportSwitch({ report }: { report: Report }) {
  const client = useQueryClient();
  const { groupId, id: reportId } = report;
  const name = nameOr(report.name, reportId);
  const put = (enabled: boolean) => updateReport({ groupId, reportId, enabled });
  const fail = (error: Error) => {
    void client.invalidateQueries({ queryKey: ["reports"] });
    showToast(error.message, { tone: "bad" });
  };
  const toggle = useMutation({
    mutationFn: put,
    onMutate: (enabled) => {
      refreshReport(client, { ...report, enabled });
      return report;
    },
    onSuccess: (changed, enabled) => {
      refreshReport(client, changed);
      const undo = () => put(!enabled).then((back) => refreshReport(client, back), fail);
      showToast(enabled ? t("nameIsSentAgainWithWhat", { name }) : t("nameIsDisabledDISABLEDMEANS", { name, DISABLED_MEANS }), { action: { label: t("Undo"), run: undo } });
    },
    onError: (error, _enabled, before) => {
      // Without the service nothing else would say how it is.
      if (before) refreshReport(client, before);
      fail(error);
    },
  });
  return <Switch isOn={report.enabled} label={t("SendName", { name })} title={DISABLED_MEANS} onChange={(enabled) => toggle.mutate(enabled)} />;
}
