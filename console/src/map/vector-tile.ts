// Vector tiles (MVT): a protocol buffer of layers, whose features have tags and a drawn outline.

export const POINT = 1;
export const LINE = 2;
export const POLYGON = 3;

export type Tag = string | number | boolean;

export interface Feature {
  readonly kind: number;
  readonly tags: Readonly<Record<string, Tag>>;
  // Commands and steps, as the format has them.
  readonly geometry: readonly number[];
}

export interface Layer {
  readonly extent: number;
  readonly features: readonly Feature[];
}

export type VectorTile = ReadonlyMap<string, Layer>;

class Reader {
  private readonly view: DataView;
  readonly bytes: Uint8Array;
  at: number;
  readonly end: number;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    this.end = bytes.byteLength;
  }

  varint(): number {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new Error("The tile is cut off.");
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
  }

  part(): Uint8Array {
    const length = this.varint();
    const found = this.bytes.subarray(this.at, this.at + length);
    this.at += length;
    return found;
  }

  float(): number {
    this.at += 4;
    return this.view.getFloat32(this.at - 4, true);
  }

  double(): number {
    this.at += 8;
    return this.view.getFloat64(this.at - 8, true);
  }

  skip(type: number): void {
    if (type === 0) this.varint();
    else if (type === 1) this.at += 8;
    else if (type === 2) this.part();
    else if (type === 5) this.at += 4;
    else throw new Error("The tile is damaged.");
  }
}

function readFields(bytes: Uint8Array, read: (field: number, reader: Reader) => boolean): void {
  const reader = new Reader(bytes);
  while (reader.at < reader.end) {
    const key = reader.varint();
    if (!read(key >> 3, reader)) reader.skip(key & 7);
  }
}

function readNumbers(bytes: Uint8Array): number[] {
  const reader = new Reader(bytes);
  const found: number[] = [];
  while (reader.at < reader.end) found.push(reader.varint());
  return found;
}

const unzigzag = (value: number) => (value % 2 === 0 ? value / 2 : -(value + 1) / 2);
const utf8 = new TextDecoder();

function readValue(bytes: Uint8Array): Tag {
  let found: Tag = "";
  readFields(bytes, (field, reader) => {
    if (field === 1) found = utf8.decode(reader.part());
    else if (field === 2) found = reader.float();
    else if (field === 3) found = reader.double();
    else if (field === 4 || field === 5) found = reader.varint();
    else if (field === 6) found = unzigzag(reader.varint());
    else if (field === 7) found = reader.varint() !== 0;
    else return false;
    return true;
  });
  return found;
}

function readFeature(bytes: Uint8Array, keys: readonly string[], values: readonly Tag[]): Feature {
  const tags: Record<string, Tag> = {};
  let kind = 0;
  let geometry: number[] = [];
  readFields(bytes, (field, reader) => {
    if (field === 2) {
      const numbers = readNumbers(reader.part());
      for (let at = 0; at + 1 < numbers.length; at += 2) {
        const [key, value] = [keys[numbers[at] as number], values[numbers[at + 1] as number]];
        if (key !== undefined && value !== undefined) tags[key] = value;
      }
    } else if (field === 3) kind = reader.varint();
    else if (field === 4) geometry = readNumbers(reader.part());
    else return false;
    return true;
  });
  return { kind, tags, geometry };
}

export function parseTile(bytes: Uint8Array): VectorTile {
  const layers = new Map<string, Layer>();
  readFields(bytes, (field, reader) => {
    if (field !== 3) return false;
    let [name, extent] = ["", 4_096];
    const [packed, keys, values]: [Uint8Array[], string[], Tag[]] = [[], [], []];
    readFields(reader.part(), (inner, part) => {
      if (inner === 1) name = utf8.decode(part.part());
      else if (inner === 2) packed.push(part.part());
      else if (inner === 3) keys.push(utf8.decode(part.part()));
      else if (inner === 4) values.push(readValue(part.part()));
      else if (inner === 5) extent = part.varint();
      else return false;
      return true;
    });
    layers.set(name, { extent, features: packed.map((each) => readFeature(each, keys, values)) });
    return true;
  });
  return layers;
}

export interface Pen {
  moveTo: (x: number, y: number) => void;
  lineTo: (x: number, y: number) => void;
  closePath: () => void;
}

// Draws the outline of a feature, in units of its tile.
export function trace({ geometry }: Feature, pen: Pen): void {
  let [x, y, at] = [0, 0, 0];
  while (at < geometry.length) {
    const command = geometry[at++] as number;
    const kind = command & 7;
    if (kind === 7) {
      pen.closePath();
      continue;
    }
    for (let left = command >> 3; left > 0 && at + 1 < geometry.length; left -= 1) {
      x += unzigzag(geometry[at++] as number);
      y += unzigzag(geometry[at++] as number);
      if (kind === 1) pen.moveTo(x, y);
      else pen.lineTo(x, y);
    }
  }
}
