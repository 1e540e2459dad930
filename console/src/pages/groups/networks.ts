// What each network needs to report here: the names of the fields in its own form, and a message such
// as it sends. Names in forms of others are as they stand there, in every language.
import { t } from "~/messages/groups";
import type { NetworkId } from "./network-ids";

export const NETWORK_NAMES: Readonly<Record<NetworkId, string>> = {
  chirpstack: "ChirpStack",
  ttn: t("ThingsStack"),
  loriot: "LORIOT",
  thingpark: "ThingPark",
  vendor: t("OtherVendor"),
  mqtt: "MQTT",
  http: "HTTP",
};

export interface FormField {
  readonly name: string;
  readonly value: string;
}

const VENDOR_BODY = '{"device":"{device}","time":{time},"data":"{data}","seqNumber":{seqNumber},"ack":{ack}}';
const VENDOR_DEVICE_DIGITS = 8;

export function fieldsOf(network: NetworkId, origin: string, token: string): readonly FormField[] {
  const bearer = "Bearer " + token;
  switch (network) {
    case "chirpstack":
      return [
        { name: "Payload encoding", value: "JSON" },
        { name: "Event endpoint URL(s)", value: `${origin}/network/chirpstack` },
        { name: "Headers: Key", value: "Authorization" },
        { name: "Headers: Value", value: bearer },
      ];
    case "ttn":
      return [
        { name: "Webhook format", value: "JSON" },
        { name: "Base URL", value: `${origin}/network/ttn` },
        { name: "Additional headers: name", value: "Authorization" },
        { name: "Additional headers: value", value: bearer },
      ];
    case "loriot":
      return [
        { name: "Target URL for POSTs", value: `${origin}/network/loriot` },
        { name: 'Custom "Authorization" header', value: bearer },
      ];
    case "thingpark":
      return [
        { name: "URL", value: `${origin}/network/thingpark?token=${token}` },
        { name: "Content Type", value: "JSON" },
      ];
    case "vendor":
      return [
        { name: "Url pattern", value: `${origin}/network/vendor/data` },
        { name: "Use HTTP Method", value: "POST" },
        { name: "Headers: header", value: "Authorization" },
        { name: "Headers: value", value: bearer },
        { name: "Content type", value: "application/json" },
        { name: "Body", value: VENDOR_BODY },
      ];
    case "mqtt":
      return [{ name: "Topic", value: `longwire/${token}/sensor-1/data` }];
    case "http":
      return [
        { name: "URL", value: `${origin}/device/data` },
        { name: "Header", value: "Authorization: Bearer $TOKEN" },
        { name: "Header", value: "Content-Type: application/json" },
      ];
  }
}

// A device EUI that no other group tries out with.
export function triedEui(groupId: string): string {
  const digits = /^\d+$/.test(groupId) ? BigInt(groupId).toString(16) : "1";
  return `f0${digits.padStart(14, "0").slice(-14)}`;
}

function uplink(network: NetworkId, eui: string): { path: string; message: unknown } | null {
  switch (network) {
    case "chirpstack":
      return { path: "/network/chirpstack?event=up", message: { deviceInfo: { devEui: eui, deviceName: "probe" }, fPort: 2, fCnt: 1, data: "ChssPQ==" } };
    case "ttn":
      return { path: "/network/ttn", message: { end_device_ids: { device_id: "probe", dev_eui: eui.toUpperCase() }, uplink_message: { f_port: 2, f_cnt: 1, frm_payload: "ChssPQ==" } } };
    case "loriot":
      return { path: "/network/loriot", message: { cmd: "gw", EUI: eui.toUpperCase(), port: 2, fcnt: 1, data: "0a1b2c3d" } };
    case "thingpark":
      return { path: "/network/thingpark", message: { DevEUI_uplink: { DevEUI: eui.toUpperCase(), FPort: 2, FCntUp: 1, payload_hex: "0a1b2c3d" } } };
    case "vendor":
      return { path: "/network/vendor/data", message: { device: eui.slice(-VENDOR_DEVICE_DIGITS).toUpperCase(), data: "0A1B2C3D", seqNumber: 1 } };
    default:
      return null;
  }
}

// Sends what the network would send, as it is pasted into a terminal.
export function commandOf(network: NetworkId, origin: string, token: string, groupId: string): string {
  if (network === "mqtt") return `mosquitto_pub -h broker.example.com -q 1 \\\n  -t "longwire/${token}/sensor-1/data" \\\n  -m '{"data": "{\\"celsius\\": 21.5}"}'`;
  const tried = uplink(network, triedEui(groupId));
  if (tried === null) return recordCommand(origin);
  return `curl -H "Authorization: Bearer ${token}" \\\n  -H "Content-Type: application/json" \\\n  -d '${JSON.stringify(tried.message)}' \\\n  "${origin}${tried.path}"`;
}

// One record of a device, by a token of an app client or a person; the time is that of the terminal.
export function recordCommand(origin: string): string {
  return [
    `curl -H "Authorization: Bearer $TOKEN" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '{"deviceId": "'"$DEVICE"'", "timestamp": "'"$(date -u +%Y-%m-%dT%H:%M:%SZ)"'",`,
    `       "deviceType": "generic", "configuration": "{}", "__raw": "",`,
    `       "data": "{\\"celsius\\": 21.5}"}' \\`,
    `  "${origin}/device/data"`,
  ].join("\n");
}
