// The part of Node's Buffer that codecs use, on a Uint8Array. It runs before codecs that name it.
(() => {
  "use strict";
  const latin = (text) => Uint8Array.from(text, (each) => each.charCodeAt(0));
  const encode = {
    hex: (text) => {
      const pairs = /^(?:[0-9a-f]{2})*/i.exec(text)[0].match(/../g) || [];
      return Uint8Array.from(pairs, (each) => parseInt(each, 16));
    },
    base64: (text) => {
      const digits = text.replace(/-/g, "+").replace(/_/g, "/").replace(/=.*$|[^\w+/]/gs, "");
      // What is left of a last group that is no byte is dropped.
      return latin(atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits));
    },
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
  const isText = (value) => typeof value === "string";
  const outOfRange = (what, value) => {
    throw new RangeError(`The value of "${what}" is out of range. Received ${String(value)}`);
  };
  const wrongType = (what, value) => {
    throw new TypeError(`The "${what}" argument has the wrong type. Received ${typeof value}`);
  };
  const integer = (what, value, least, most) => {
    if (typeof value !== "number") wrongType(what, value);
    if (!Number.isInteger(value) || value < least || value > most) outOfRange(what, value);
    return value;
  };
  const clamp = (value, most) => Math.min(Math.max(Math.trunc(value) || 0, 0), most);
  // What is searched for or filled in: the bytes of a text, of another buffer, or one byte.
  const bytesOf = (value, encoding) => isText(value) ? pick(encode, encoding)(value)
    : value instanceof Uint8Array ? value : [value & 255];
  class Buffer extends Uint8Array {
    constructor(value, encodingOrOffset, length) {
      if (isText(value)) super(pick(encode, encodingOrOffset)(value));
      else super(value, encodingOrOffset, length);
    }
    static from(value, encodingOrOffset, length) {
      if (isText(value)) return new Buffer(value, encodingOrOffset);
      if (value === null || typeof value !== "object") wrongType("first", value);
      if (value instanceof ArrayBuffer) return new Buffer(value, encodingOrOffset, length);
      const list = value.type === "Buffer" ? value.data : value;
      const made = new Buffer(list.length || 0);
      for (let i = 0; i < list.length; i++) made[i] = list[i];
      return made;
    }
    static alloc(size, fill, encoding) {
      if (typeof size !== "number") wrongType("size", size);
      if (!(size >= 0)) outOfRange("size", size);
      const made = new Buffer(size);
      return fill === undefined || !size ? made : made.fill(fill, encoding);
    }
    static allocUnsafe(size) { return Buffer.alloc(size); }
    static isEncoding(name) {
      return isText(name) && (name.toLowerCase() in names || name.toLowerCase() in decode);
    }
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
      const size = this.length;
      return pick(decode, encoding)(this.subarray(clamp(start, size), clamp(end, size)));
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
    fill(value, start, end, encoding) {
      if (isText(start)) [start, encoding] = [undefined, start];
      else if (isText(end)) [end, encoding] = [undefined, end];
      const from = start === undefined ? 0 : integer("offset", start, 0, this.length);
      const to = end === undefined ? this.length : integer("end", end, 0, this.length);
      const bytes = value === "" ? [0] : bytesOf(value, encoding);
      if (!bytes.length && from < to) throw new TypeError(`The argument "value" is invalid`);
      for (let i = from; i < to; i++) this[i] = bytes[(i - from) % bytes.length];
      return this;
    }
    indexOf(value, start, encoding) { return search(this, value, start, encoding, 1); }
    lastIndexOf(value, start, encoding) { return search(this, value, start, encoding, -1); }
    includes(value, start, encoding) { return this.indexOf(value, start, encoding) >= 0; }
    write(text, ...options) {
      if (!isText(text)) wrongType("string", text);
      const encoding = options.find(isText);
      const [at = 0, size] = options.filter((each) => typeof each === "number");
      const left = this.length - integer("offset", at, 0, this.length);
      const most = size === undefined ? left : Math.min(left, integer("length", size, 0, this.length));
      const bytes = pick(encode, encoding)(text);
      let end = Math.min(bytes.length, most);
      // No half a character.
      if (pick(encode, encoding) === encode.utf8)
        while (end < bytes.length && (bytes[end] & 0xc0) === 0x80) end--;
      if (pick(encode, encoding) === encode.utf16le) end -= end % 2;
      this.set(bytes.subarray(0, end), at);
      return end;
    }
    swap16() { return swap(this, 2); }
    swap32() { return swap(this, 4); }
    swap64() { return swap(this, 8); }
  }
  const search = (buffer, value, start, encoding, step) => {
    if (isText(start)) [start, encoding] = [undefined, start];
    if (!isText(value) && typeof value !== "number" && !(value instanceof Uint8Array))
      wrongType("value", value);
    const bytes = bytesOf(value, encoding), last = buffer.length - bytes.length;
    let at = start === undefined ? NaN : +start;
    if (Number.isNaN(at)) at = step > 0 ? 0 : buffer.length;
    at = Math.trunc(at) + (at < 0 ? buffer.length : 0);
    if (step > 0) at = Math.max(at, 0);
    if (!bytes.length) return Math.min(at, buffer.length);
    for (at = step > 0 ? at : Math.min(at, last); at >= 0 && at <= last; at += step) {
      let same = 0;
      while (same < bytes.length && buffer[at + same] === bytes[same]) same++;
      if (same === bytes.length) return at;
    }
    return -1;
  };
  const swap = (buffer, size) => {
    if (buffer.length % size)
      throw new RangeError(`Buffer size must be a multiple of ${8 * size}-bits`);
    for (let i = 0; i < buffer.length; i += size) buffer.subarray(i, i + size).reverse();
    return buffer;
  };
  const define = (name, work) =>
    Object.defineProperty(Buffer.prototype, name, { value: work, writable: true, configurable: true });
  const view = (buffer, at, size) => {
    integer("offset", at, 0, buffer.length - size);
    return new DataView(buffer.buffer, buffer.byteOffset + at, size);
  };
  const types = [["Int8", 1], ["Int16", 2], ["Int32", 4], ["Float", 4, "Float32"],
    ["Double", 8, "Float64"], ["BigInt64", 8], ["UInt8", 1, "Uint8"], ["UInt16", 2, "Uint16"],
    ["UInt32", 4, "Uint32"], ["BigUInt64", 8, "BigUint64"]];
  const within = (name, size, value) => {
    if (name.startsWith("Big")) {
      if (typeof value !== "bigint") wrongType("value", value);
      const sent = name === "BigInt64" ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value);
      if (sent !== value) outOfRange("value", value);
      return value;
    }
    const number = +value, least = name.startsWith("Int") ? -(2 ** (8 * size - 1)) : 0;
    if (name.includes("Int") && (number < least || number > least + 2 ** (8 * size) - 1))
      outOfRange("value", value);
    return number;
  };
  for (const [name, size, kind = name] of types)
    for (const order of size === 1 ? [""] : ["LE", "BE"]) {
      const read = function (at = 0) { return view(this, at, size)[`get${kind}`](0, order === "LE"); };
      const write = function (value, at = 0) {
        const sent = within(name, size, value);
        view(this, at, size)[`set${kind}`](0, sent, order === "LE");
        return at + size;
      };
      for (const alias of [name, name.replace("UInt", "Uint")]) {
        define(`read${alias}${order}`, read);
        define(`write${alias}${order}`, write);
      }
    }
  for (const order of ["LE", "BE"]) {
    const unsigned = function (at, size) {
      integer("byteLength", size, 1, 6);
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
    const write = (name) => function (value, at, size) {
      integer("byteLength", size, 1, 6);
      const sent = within(name, size, value), bytes = view(this, at, size);
      let rest = sent < 0 ? Math.trunc(sent) + 2 ** (8 * size) : sent;
      for (let i = 0; i < size; i++) {
        bytes.setUint8(order === "LE" ? i : size - 1 - i, rest % 256);
        rest = Math.floor(rest / 256);
      }
      return at + size;
    };
    for (const name of ["UInt", "Uint"]) {
      define(`read${name}${order}`, unsigned);
      define(`write${name}${order}`, write("UInt"));
    }
    define(`readInt${order}`, signed);
    define(`writeInt${order}`, write("Int"));
  }
  // It may be called without `new`, as older codecs do.
  const Callable = new Proxy(Buffer, { apply: (target, self, given) => new target(...given) });
  Buffer.prototype.constructor = Callable;
  globalThis.Buffer = Callable;
  globalThis.require = (name) => {
    if (name === "buffer" || name === "node:buffer") return { Buffer: Callable };
    throw new Error(`Cannot find module '${name}'`);
  };
})();
