"""Codecs as customers write them, in three styles."""

# Fixed offsets, flags in the upper bits, a helper, and a downlink encoder.
SOIL_PROBE = """
function signed16(high, low) {
  var value = (high << 8) | low;
  return value > 0x7fff ? value - 0x10000 : value;
}

function decodeUplink(input) {
  var bytes = input.bytes;
  var warnings = [];
  if (input.fPort !== 2) {
    return { errors: ["unknown port " + input.fPort] };
  }
  if (bytes.length < 8) {
    return { errors: ["8 bytes expected, got " + bytes.length] };
  }
  var battery = ((bytes[0] << 8 | bytes[1]) & 0x3fff) / 1000;
  if (battery < 2.8) warnings.push("battery is low");
  return {
    data: {
      battery: battery,
      soil_temperature: parseFloat((signed16(bytes[2], bytes[3]) / 100).toFixed(2)),
      soil_moisture: (bytes[4] << 8 | bytes[5]) / 10,
      conductivity: bytes[6] << 8 | bytes[7],
      alarm: (bytes[0] & 0x80) !== 0,
      received: input.recvTime,
    },
    warnings: warnings,
  };
}

function encodeDownlink(input) {
  var minutes = input.data.interval;
  if (!(minutes >= 1 && minutes <= 1440)) {
    return { bytes: [], errors: ["interval must be 1 to 1440 minutes"] };
  }
  return { bytes: [0x01, minutes >> 8 & 0xff, minutes & 0xff], fPort: 3 };
}
"""

# Type-length records, a mutable global, an undeclared counter, and a log.
ROOM_SENSOR = """
const TYPE_TEMPERATURE = 0x01, TYPE_HUMIDITY = 0x02, TYPE_MOTION = 0x05, TYPE_TEXT = 0x3e;
var reading = {};
let seen = 0;
String.prototype.shout = function () { return this.toUpperCase(); };

class Reader {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }
  get more() { return this.at < this.bytes.length; }
  byte() { return this.bytes[this.at++]; }
  int16() { return (this.byte() << 24 >> 16) | this.byte(); }
}

const decodeUplink = ({ bytes, fPort }) => {
  const reader = new Reader(bytes);
  for (rounds = 0; reader.more; rounds++) {
    console.log("round", rounds);
    const type = reader.byte();
    switch (type) {
      case TYPE_TEMPERATURE: reading.temperature = reader.int16() / 10; break;
      case TYPE_HUMIDITY: reading.humidity = reader.byte(); break;
      case TYPE_MOTION: reading.motion = reader.byte(); break;
      case TYPE_TEXT:
        reading.label = String.fromCharCode(...bytes.slice(reader.at)).shout();
        reader.at = bytes.length;
        break;
      default: throw new Error(`unknown type 0x${type.toString(16)} at ${reader.at - 1}`);
    }
  }
  return { data: { ...reading, seen: ++seen, rounds } };
};
"""

# The legacy styles of two network servers.
PULSE_METER = """
function Decoder(bytes, port) {
  var decoded = { port: port };
  decoded.pulses = (bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24) >>> 0;
  return decoded;
}
function Encoder(object, port) { return new Uint8Array([object.reset ? 1 : 0]); }
"""
PULSE_METER_TURNED = """
function Decode(fPort, bytes, variables) { return { port: fPort, first: bytes[0] }; }
function Encode(fPort, object, variables) { return [fPort, object.value]; }
"""
