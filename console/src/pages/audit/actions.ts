// The actions of the audit log in words: "Ada changed the connector …".

import { t } from "~/messages/audit";

export const ACTIONS: Readonly<Record<string, string>> = {
  "appClient.create": t("createdAppClient"),
  "appClient.delete": t("deletedAppClient"),
  "appClient.update": t("changedAppClient"),
  "connector.cancelMessages": t("cancelledDeliveriesOfConnector"),
  "connector.cancelReplay": t("stoppedReplayOfConnector"),
  "connector.create": t("createdConnector"),
  "connector.delete": t("deletedConnector"),
  "connector.disable": t("disabledConnector"),
  "connector.replay": t("startedReplayOfConnector"),
  "connector.resend": t("resentDeadLettersOfConnector"),
  "connector.retryMessages": t("retriedDeliveriesOfConnector"),
  "connector.update": t("changedConnector"),
  "contactPoint.create": t("createdContactPoint"),
  "contactPoint.delete": t("deletedContactPoint"),
  "contactPoint.test": t("testedContactPoint"),
  "contactPoint.update": t("changedContactPoint"),
  "delivery.cancel": t("cancelledDelivery"),
  "delivery.retry": t("retriedDelivery"),
  "device.create": t("createdDevice"),
  "device.delete": t("deletedDevice"),
  "device.replaceHardware": t("replacedHardwareOfDevice"),
  "device.restore": t("restoredDevice"),
  "device.transfer": t("movedDevice"),
  "device.update": t("changedDevice"),
  "downlink.cancel": t("cancelledDownlink"),
  "downlink.create": t("sentDownlink"),
  "group.allowDownlinks": t("allowedDownlinksByNetwork"),
  "group.cancelDeletion": t("restoredGroup"),
  "group.create": t("createdGroup"),
  "group.delete": t("erasedGroup"),
  "group.denyDownlinks": t("forbadeDownlinksByNetwork"),
  "group.rotateToken": t("replacedNetworkTokenOfGroup"),
  "group.scheduleDeletion": t("deletedGroup"),
  "group.update": t("changedGroup"),
  "group.updateConfiguration": t("changedConfigurationPolicyOfGroup"),
  "group.updateLimits": t("changedLimitsOfGroup"),
  "group.updateRetention": t("changedRetentionOfGroup"),
  "job.cancel": t("cancelledJob"),
  "job.create": t("startedJob"),
  "job.deleteResult": t("deletedFileOfJob"),
  "member.accept": t("acceptedInvitationOf"),
  "member.add": t("addedMember"),
  "member.invite": t("invited"),
  "member.remove": t("removedMember"),
  "member.update": t("changedRoleOf"),
  "notification.create": t("createdNotification"),
  "notification.delete": t("deletedNotification"),
  "notification.disable": t("disabledNotification"),
  "notification.test": t("testedNotification"),
  "notification.update": t("changedNotification"),
  "pushToken.disable": t("disabledPushTokenOf"),
  "record.delete": t("deletedRecordOf"),
  "record.deleteAll": t("deletedAllRecordsOf"),
  "record.redecode": t("redecodedRecordsOf"),
  "report.create": t("createdReport"),
  "report.delete": t("deletedReport"),
  "report.send": t("sentReport"),
  "report.stop": t("stoppedReport"),
  "report.update": t("changedReport"),
  "role.create": t("createdRole"),
  "role.delete": t("deletedRole"),
  "role.update": t("changedRole"),
  "share.create": t("createdSharedView"),
  "share.delete": t("revokedSharedView"),
  "share.expire": t("deletedExpiredSharedView"),
  "share.use": t("countedFirstUseOfDayOf"),
  "unknownDevice.dismiss": t("dismissedUnknownDevicesOfGroup"),
  "signInLink.create": t("createdSignInLinkFor"),
};

export function actionWords(action: string): string {
  return ACTIONS[action] ?? action;
}

// The same where nothing follows that it was done to.
export function actionAlone(action: string): string {
  const words = actionWords(action);
  return words.endsWith(" of") ? t("wordsIt", { words }) : words;
}
