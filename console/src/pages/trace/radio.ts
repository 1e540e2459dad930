// What a network's own message says about the radio: which gateways received it, and how well.
// Each network has a form of its own; what is not found is left out.
import { LOCALE } from "~/i18n";
import { t } from "~/messages/trace";

export interface GatewayReception {
  readonly gateway: string;
  readonly rssi: number | null;
  readonly snr: number | null;
}

export interface Radio {
  readonly frameCounter: number | null;
  readonly gateways: readonly GatewayReception[];
}

type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objects(value: unknown): Json[] {
  if (Array.isArray(value)) return value.filter(isObject);
  return isObject(value) ? [value] : [];
}

function number(...values: unknown[]): number | null {
  for (const value of values) {
    const found = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof found === "number" && Number.isFinite(found)) return found;
  }
  return null;
}

function text(...values: unknown[]): string {
  for (const value of values) if (typeof value === "string" || typeof value === "number") return String(value);
  return "";
}

function gatewaysOf(body: Json): GatewayReception[] {
  const uplink = isObject(body.uplink_message) ? body.uplink_message : {};
  const thingPark = isObject(body.DevEUI_uplink) ? body.DevEUI_uplink : {};
  const lrrs = isObject(thingPark.Lrrs) ? thingPark.Lrrs.Lrr : undefined;
  const listed = [body.rxInfo, uplink.rx_metadata, body.gws, lrrs, body.duplicates].map(objects).find((each) => each.length > 0);
  if (!listed) {
    const gateway = text(body.station, body.gatewayId, thingPark.Lrrid);
    const rssi = number(body.rssi, thingPark.LrrRSSI);
    return gateway || rssi !== null ? [{ gateway, rssi, snr: number(body.snr, body.lsnr, thingPark.LrrSNR) }] : [];
  }
  return listed.map((each) => {
    const ids = isObject(each.gateway_ids) ? each.gateway_ids : {};
    return {
      gateway: text(each.gatewayId, ids.gateway_id, each.gweui, each.Lrrid, each.station, each.bsId),
      rssi: number(each.rssi, each.LrrRSSI),
      snr: number(each.snr, each.lsnr, each.LrrSNR),
    };
  });
}

export function parseRadio(bodyText: string | null | undefined): Radio {
  let body: unknown = null;
  try {
    body = JSON.parse(bodyText ?? "");
  } catch {
    // A form, or not kept.
  }
  if (!isObject(body)) return { frameCounter: null, gateways: [] };
  const uplink = isObject(body.uplink_message) ? body.uplink_message : {};
  const thingPark = isObject(body.DevEUI_uplink) ? body.DevEUI_uplink : {};
  const frameCounter = number(body.fCnt, uplink.f_cnt, body.fcnt, thingPark.FCntUp, body.seqNumber);
  const gateways = gatewaysOf(body).sort((a, b) => (b.rssi ?? -1_000) - (a.rssi ?? -1_000));
  return { frameCounter, gateways };
}

// "fCnt 1,204 · 2 gateways · RSSI −97 dBm · SNR 6.5 dB", of the gateway that received it best.
export function radioWords(radio: Radio): string {
  const [best] = radio.gateways;
  const signed = (value: number) => value.toLocaleString(LOCALE).replace("-", "−");
  return [
    radio.frameCounter === null ? "" : t("frameCounterFrameCounter", { frameCounter: radio.frameCounter }),
    radio.gateways.length ? `${radio.gateways.length} ${t("gateways", { count: radio.gateways.length })}` : "",
    best?.rssi === null || best?.rssi === undefined ? "" : t("RSSIRssiDBm", { rssi: signed(best.rssi) }),
    best?.snr === null || best?.snr === undefined ? "" : t("SNRSnrDB", { snr: signed(best.snr) }),
  ]
    .filter(Boolean)
    .join(" · ");
}
