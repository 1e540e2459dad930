// Shared views in words.
import type { Schemas } from "~/api/client";
import { t } from "~/messages/shared";

export type ShareLink = Schemas["ShareLink"];

export const CONTENT_LABELS: Readonly<Record<Schemas["SharedContent"], string>> = {
  chart: t("Chart"),
  device: t("Device"),
  list: t("ListOfDevices"),
  map: t("Map"),
};

// `#lwv_…` of a link.
export function secretOf(fragment: string): string | null {
  return /^#?(lwv_[\w.-]+)$/.exec(fragment)?.[1] ?? null;
}

export const CLOSED_WORDS: Readonly<Record<Exclude<Schemas["ShareState"], "open">, string>> = {
  expired: t("ThisLinkHasExpired"),
  forbidden: t("WhoeverSharedThisMayNotShare"),
  gone: t("WhatWasSharedHereWasDeleted"),
};

// One origin on each line, or between commas.
export function parseOrigins(text: string): string[] {
  return text
    .split(/[\s,]+/)
    .map((each) => each.trim().replace(/\/$/, ""))
    .filter(Boolean);
}
