// The part of Node's Buffer that codecs use, on a Uint8Array. It runs before codecs that name it.
(() => {
  "use strict";
  const latin = (text) => Uint8Array.from(text, (each) => each.charCodeAt(0));
  const encode = {
    hex: (text) => {
      const pairs = /^(?:[0-9a-f]{2})*/i.exec(text)[0].match(/../g) || [];
      return Uint8Array.from(pairs, (each) => parseInt(each, 16));
    },
    base64: (text) => latin(atob(text.replace(/-/g, "+").replace(/_/g, "/").replace(/[^\w+/]/g, ""))),
    latin1: latin,
    utf8: (text) => latin(unescape(encodeURIComponent(text.toWellFormed()))),
    utf16le: (text) => {
      const bytes = new Uint8Array(text.length * 2);
      for (let i = 0; i < text.length; i++) {
        bytes[2 * i] = text.charCodeAt(i) & 255;
        bytes[2 * i + 1] = text.charCodeAt(i) >> 8;
      }
      return bytes;
    },
  };
  const chars = (bytes, mask) => {
    let text = "";
    for (let i = 0; i < bytes.length; i++) text += String.fromCharCode(bytes[i] & mask);
    return text;
  };
  const utf8 = (bytes) => {
    let text = "";
    for (let i = 0; i < bytes.length; ) {
      const first = bytes[i++];
      const more = first < 0x80 ? 0 : first >= 0xc2 && first < 0xe0 ? 1
        : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : -1;
      let point = more < 0 ? 0xfffd : more ? first & (0x3f >> more) : first;
      let read = 0;
      while (read < more && (bytes[i] & 0xc0) === 0x80) {
        point = (point << 6) | (bytes[i++] & 0x3f);
        read++;
      }
      const least = [0, 0x80, 0x800, 0x10000][more] || 0;
      const isWrong = read < more || point < least || point > 0x10ffff
        || (point >= 0xd800 && point < 0xe000);
      text += String.fromCodePoint(isWrong ? 0xfffd : point);
    }
    return text;
  };
  const decode = {
    hex: (bytes) => Array.from(bytes, (each) => (each + 256).toString(16).slice(1)).join(""),
    base64: (bytes) => btoa(chars(bytes, 255)),
    base64url: (bytes) =>
      btoa(chars(bytes, 255)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, ""),
    latin1: (bytes) => chars(bytes, 255),
    ascii: (bytes) => chars(bytes, 127),
    utf8,
    utf16le: (bytes) => {
      let text = "";
      for (let i = 0; i + 1 < bytes.length; i += 2)
        text += String.fromCharCode(bytes[i] | (bytes[i + 1] << 8));
      return text;
    },
  };
  const names = { "utf-8": "utf8", ucs2: "utf16le", "ucs-2": "utf16le", "utf-16le": "utf16le",
    binary: "latin1" };
  const pick = (table, encoding) => {
    const name = String(encoding === undefined || encoding === null ? "utf8" : encoding);
    const known = names[name.toLowerCase()] || name.toLowerCase();
    const other = table === encode ? { ascii: "latin1", base64url: "base64" } : {};
    const found = table[other[known] || known];
    if (!found) throw new TypeError(`Unknown encoding: ${name}`);
    return found;
  };
  class Buffer extends Uint8Array {
    static from(value, encodingOrOffset, length) {
      if (typeof value === "string") return Buffer.from(pick(encode, encodingOrOffset)(value));
      if (value instanceof ArrayBuffer) return new Buffer(value, encodingOrOffset, length);
      const list = value && value.type === "Buffer" ? value.data : value;
      const made = new Buffer(list.length);
      for (let i = 0; i < list.length; i++) made[i] = list[i];
      return made;
    }
    static alloc(size, fill, encoding) {
      const made = new Buffer(size);
      return fill === undefined ? made : made.fill(fill, encoding);
    }
    static allocUnsafe(size) { return new Buffer(size); }
    static isBuffer(value) { return value instanceof Buffer; }
    static byteLength(value, encoding) {
      return typeof value === "string" ? pick(encode, encoding)(value).length : value.byteLength;
    }
    static concat(list, total) {
      const size = list.reduce((sum, each) => sum + each.length, 0);
      const made = new Buffer(total === undefined ? size : total);
      let at = 0;
      for (const each of list)
        for (let i = 0; i < each.length && at < made.length; i++) made[at++] = each[i];
      return made;
    }
    static compare(one, other) { return one.compare(other); }
    toString(encoding, start = 0, end = this.length) {
      return pick(decode, encoding)(this.subarray(start, end));
    }
    toJSON() { return { type: "Buffer", data: Array.from(this) }; }
    slice(start, end) { return this.subarray(start, end); }
    equals(other) { return this.compare(other) === 0; }
    compare(other) {
      for (let i = 0; i < this.length && i < other.length; i++)
        if (this[i] !== other[i]) return this[i] < other[i] ? -1 : 1;
      return Math.sign(this.length - other.length);
    }
    copy(target, at = 0, start = 0, end = this.length) {
      const part = this.subarray(start, Math.min(end, start + target.length - at));
      target.set(part, at);
      return part.length;
    }
    fill(value, encoding) {
      if (typeof value !== "string") return super.fill(value);
      const bytes = pick(encode, encoding)(value);
      for (let i = 0; i < this.length; i++) this[i] = bytes.length ? bytes[i % bytes.length] : 0;
      return this;
    }
    write(text, ...options) {
      const at = typeof options[0] === "number" ? options[0] : 0;
      const bytes = pick(encode, options.find((each) => typeof each === "string"))(text);
      const part = bytes.subarray(0, Math.max(0, this.length - at));
      this.set(part, at);
      return part.length;
    }
    swap16() {
      for (let i = 0; i + 1 < this.length; i += 2) [this[i], this[i + 1]] = [this[i + 1], this[i]];
      return this;
    }
  }
  const define = (name, work) =>
    Object.defineProperty(Buffer.prototype, name, { value: work, writable: true, configurable: true });
  const view = (buffer, at, size) => {
    if (!Number.isInteger(at) || at < 0 || at + size > buffer.length)
      throw new RangeError(`The value of "offset" is out of range. Received ${at}`);
    return new DataView(buffer.buffer, buffer.byteOffset + at, size);
  };
  const types = [["Int8", 1], ["Int16", 2], ["Int32", 4], ["Float", 4, "Float32"],
    ["Double", 8, "Float64"], ["BigInt64", 8], ["UInt8", 1, "Uint8"], ["UInt16", 2, "Uint16"],
    ["UInt32", 4, "Uint32"], ["BigUInt64", 8, "BigUint64"]];
  for (const [name, size, kind = name] of types)
    for (const order of size === 1 ? [""] : ["LE", "BE"]) {
      const read = function (at = 0) { return view(this, at, size)[`get${kind}`](0, order === "LE"); };
      const write = function (value, at = 0) {
        view(this, at, size)[`set${kind}`](0, value, order === "LE");
        return at + size;
      };
      for (const alias of [name, name.replace("UInt", "Uint")]) {
        define(`read${alias}${order}`, read);
        define(`write${alias}${order}`, write);
      }
    }
  for (const order of ["LE", "BE"]) {
    const unsigned = function (at, size) {
      const bytes = view(this, at, size);
      let value = 0;
      for (let i = 0; i < size; i++)
        value = value * 256 + bytes.getUint8(order === "LE" ? size - 1 - i : i);
      return value;
    };
    const signed = function (at, size) {
      const value = unsigned.call(this, at, size);
      return value >= 2 ** (8 * size - 1) ? value - 2 ** (8 * size) : value;
    };
    const write = function (value, at, size) {
      const bytes = view(this, at, size);
      let rest = value < 0 ? value + 2 ** (8 * size) : value;
      for (let i = 0; i < size; i++) {
        bytes.setUint8(order === "LE" ? i : size - 1 - i, rest % 256);
        rest = Math.floor(rest / 256);
      }
      return at + size;
    };
    for (const name of ["UInt", "Uint"]) {
      define(`read${name}${order}`, unsigned);
      define(`write${name}${order}`, write);
    }
    define(`readInt${order}`, signed);
    define(`writeInt${order}`, write);
  }
  globalThis.Buffer = Buffer;
  globalThis.require = (name) => {
    if (name === "buffer" || name === "node:buffer") return { Buffer };
    throw new Error(`Cannot find module '${name}'`);
  };
})();
