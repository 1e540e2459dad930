import { expect, test } from "vitest";
import { parseRadio, radioWords } from "./radio";

test.each([
  [
    "ChirpStack",
    { fCnt: 1204, rxInfo: [{ gatewayId: "b", rssi: -112, snr: -3.2 }, { gatewayId: "a", rssi: -97, snr: 6.5 }] },
    "frame counter 1,204 · 2 gateways · RSSI −97 dBm · SNR 6.5 dB",
  ],
  [
    "The Things Stack",
    { uplink_message: { f_cnt: 7, rx_metadata: [{ gateway_ids: { gateway_id: "roof" }, rssi: -50, snr: 9 }] } },
    "frame counter 7 · 1 gateway · RSSI −50 dBm · SNR 9 dB",
  ],
  ["LORIOT", { fcnt: 3, gws: [{ gweui: "A", rssi: -80, snr: 2 }] }, "frame counter 3 · 1 gateway · RSSI −80 dBm · SNR 2 dB"],
  [
    "ThingPark",
    { DevEUI_uplink: { FCntUp: "12", Lrrs: { Lrr: [{ Lrrid: "0806", LrrRSSI: "-60.5", LrrSNR: "8.25" }] } } },
    "frame counter 12 · 1 gateway · RSSI −60.5 dBm · SNR 8.25 dB",
  ],
  ["the vendor's", { seqNumber: 16, station: "1A2B", rssi: "-121.00", snr: "12" }, "frame counter 16 · 1 gateway · RSSI −121 dBm · SNR 12 dB"],
  ["one without any of it", { device: "1FD48BE" }, ""],
])("%s", (_name, body, words) => {
  expect(radioWords(parseRadio(JSON.stringify(body)))).toBe(words);
});

test.each([null, undefined, "", "device=1&rssi=2", "[]", '{"rxInfo":[1,null]}'])("nothing is made up of %s", (body) => {
  expect(parseRadio(body)).toEqual({ frameCounter: null, gateways: [] });
});
