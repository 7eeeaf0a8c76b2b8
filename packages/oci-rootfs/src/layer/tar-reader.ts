import { ImageError } from "../base/errors.ts";
import { type BytePath, fromBytePath, unsafe } from "./entry-path.ts";
import { BLOCK_BYTES, readHeader, type TarHeader } from "./tar-header.ts";

/** One entry of a layer. Its paths are untrusted. */
export type LayerEntry = { readonly path: BytePath; readonly mode: number /** Seconds. */; readonly mtime: number } & (
  | { readonly kind: "file"; readonly size: number }
  | { readonly kind: "directory" | "fifo" }
  | { readonly kind: "symlink" | "link"; readonly target: BytePath }
);

/** Receives the entries of an archive. */
export interface EntrySink {
  add(entry: LayerEntry): void;
  /** Receives content of the last added file. */
  write(chunk: Uint8Array): void;
  closeFile(): void;
}

/** The longest target that readlink(2) and file systems support. */
const MAX_LINK_TARGET = 4095;
/**
 * Bytes of a long name or an extended header, which stay in memory until their entry. Go's archive/tar has this
 * limit.
 */
const MAX_EXTENSION_BYTES = 1024 * 1024;

/** Fields of the next entry that precede its header. */
interface Extension {
  records: Map<string, BytePath>;
  longName: BytePath | undefined;
  longLink: BytePath | undefined;
}

/**
 * Parses a tar archive synchronously, chunk by chunk: when `write` returns, the sink has received the whole chunk.
 * Accepts and rejects the same archives as Go's archive/tar, so that two tools never see different layers.
 */
export class TarReader {
  readonly #sink: EntrySink;
  /** An incomplete header. */
  readonly #block: Buffer = Buffer.alloc(BLOCK_BYTES);
  #filled = 0;
  /** Remaining bytes of the current content, and of the padding that follows it. */
  #left = 0;
  #padding = 0;
  /** The kind of the current content; undefined in headers and padding. */
  #content: "file" | "extension" | undefined;
  #extensionType = "";
  #collected: Buffer[] = [];
  #next: Extension = noExtension();
  #path: BytePath = "";
  #zeros = 0;

  constructor(sink: EntrySink) {
    this.#sink = sink;
  }

  /** @throws ImageError UnsafeLayer, or what the sink threw, with the entry's name */
  write(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    try {
      for (let at = 0; at < bytes.length; ) at += this.#take(bytes, at);
    } catch (error) {
      throw ImageError.from(error, this.#path === "" ? {} : { entry: fromBytePath(this.#path) });
    }
  }

  /** Ends the archive. @throws ImageError UnsafeLayer if it is truncated */
  end(): void {
    if (this.#zeros === 2) return;
    if (this.#filled > 0 || this.#left > 0 || this.#content !== undefined) throw unsafe("the archive is cut off");
  }

  /** @returns the number of consumed bytes */
  #take(bytes: Buffer, at: number): number {
    // Two blocks of zeros end an archive. The rest is ignored.
    if (this.#zeros === 2) return bytes.length - at;
    if (this.#left > 0) return this.#takeContent(bytes, at);
    if (this.#padding > 0) {
      const count = Math.min(this.#padding, bytes.length - at);
      this.#padding -= count;
      return count;
    }
    if (this.#filled === 0 && bytes.length - at >= BLOCK_BYTES) {
      this.#header(bytes.subarray(at, at + BLOCK_BYTES));
      return BLOCK_BYTES;
    }
    const count = bytes.copy(this.#block, this.#filled, at, at + BLOCK_BYTES - this.#filled);
    this.#filled += count;
    if (this.#filled === BLOCK_BYTES) {
      this.#filled = 0;
      this.#header(this.#block);
    }
    return count;
  }

  #takeContent(bytes: Buffer, at: number): number {
    const count = Math.min(this.#left, bytes.length - at);
    const part = bytes.subarray(at, at + count);
    this.#left -= count;
    if (this.#content === "file") this.#sink.write(part);
    // The caller reuses the chunk.
    else this.#collected.push(Buffer.from(part));
    if (this.#left === 0) this.#endContent();
    return count;
  }

  #startContent(content: "file" | "extension", size: number): void {
    this.#content = content;
    this.#left = size;
    this.#padding = (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;
    if (size === 0) this.#endContent();
  }

  #endContent(): void {
    const content = this.#content;
    this.#content = undefined;
    if (content === "file") {
      this.#sink.closeFile();
      return;
    }
    const extension = Buffer.concat(this.#collected);
    this.#collected = [];
    if (this.#extensionType === "x") this.#next.records = readRecords(extension);
    else if (this.#extensionType === "L") this.#next.longName = untilZero(extension);
    else if (this.#extensionType === "K") this.#next.longLink = untilZero(extension);
    // Global records ("g") are ignored: they must not rename or resize files.
  }

  #header(block: Buffer): void {
    this.#path = "";
    const header = readHeader(block);
    if (header === undefined) {
      this.#zeros += 1;
      return;
    }
    if (this.#zeros > 0) throw unsafe("an entry after the end of the archive");
    if (["x", "g", "L", "K"].includes(header.type)) {
      if (header.size < 0 || header.size > MAX_EXTENSION_BYTES)
        throw unsafe(`extended header of ${header.size} bytes, more than ${MAX_EXTENSION_BYTES}`);
      this.#extensionType = header.type;
      this.#startContent("extension", header.size);
      return;
    }
    const extension = this.#next;
    this.#next = noExtension();
    this.#path = extension.longName ?? extension.records.get("path") ?? header.name;
    const entry = toEntry(header, extension, this.#path);
    this.#sink.add(entry);
    // Only files have content. The size in other headers is ignored.
    if (entry.kind === "file") this.#startContent("file", entry.size);
  }
}

function noExtension(): Extension {
  return { records: new Map(), longName: undefined, longLink: undefined };
}

/**
 * Parses records `LENGTH KEY=VALUE\n`, where LENGTH is that of the record (POSIX.1-2017, pax, "pax Extended Header").
 */
function readRecords(bytes: Buffer): Map<string, BytePath> {
  const records = new Map<string, BytePath>();
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const digits = space < 0 ? "" : bytes.toString("latin1", at, space);
    const end = /^\d{1,7}$/.test(digits) ? at + Number(digits) : 0;
    const equals = bytes.indexOf(0x3d, space);
    if (end > bytes.length || equals < 0 || equals >= end || bytes[end - 1] !== 0x0a)
      throw unsafe("damaged extended header");
    const value = bytes.toString("latin1", equals + 1, end - 1);
    // An empty value removes an earlier record.
    if (value === "") records.delete(bytes.toString("latin1", space + 1, equals));
    else records.set(bytes.toString("latin1", space + 1, equals), value);
    at = end;
  }
  return records;
}

function untilZero(bytes: Buffer): BytePath | undefined {
  const end = bytes.indexOf(0);
  const name = bytes.toString("latin1", 0, end < 0 ? bytes.length : end);
  return name === "" ? undefined : name;
}

function toEntry(header: TarHeader, { records, longLink }: Extension, path: BytePath): LayerEntry {
  const size = records.has("size") ? decimal(records.get("size") ?? "") : header.size;
  const { mode } = header;
  if (mode < 0) throw unsafe("unreadable mode");
  const mtime = records.has("mtime") ? Number.parseFloat(records.get("mtime") ?? "") : header.mtime;
  // Sparse files expand beyond the archive's size, and tools read them differently.
  for (const key of records.keys()) if (key.startsWith("GNU.sparse.")) throw unsafe("sparse file");
  if (size < 0) throw unsafe(`impossible size ${size}`);
  switch (header.type) {
    case "\0":
    case "0":
    case "7":
      // Archives older than POSIX mark directories only by a slash.
      return path.endsWith("/") && size === 0
        ? { kind: "directory", path, mode, mtime }
        : { kind: "file", path, mode, mtime, size };
    case "5":
      return { kind: "directory", path, mode, mtime };
    case "6":
      return { kind: "fifo", path, mode, mtime };
    case "1":
    case "2": {
      const target = longLink ?? records.get("linkpath") ?? header.link;
      if (target === "" || target.includes("\0")) throw unsafe("link to nothing");
      if (target.length > MAX_LINK_TARGET)
        throw unsafe(`link target of ${target.length} bytes, more than ${MAX_LINK_TARGET}`);
      return { kind: header.type === "1" ? "link" : "symlink", path, mode, mtime, target };
    }
    case "3":
    case "4":
      // A device needs rights over the machine. As `umoci unpack --rootless` does, this makes an empty file of it: the
      // runner mounts a /dev of its own, and images with stray devices run.
      return { kind: "file", path, mode, mtime, size: 0 };
    default:
      throw unsafe("entry of an unknown type (sparse, or vendor-specific)");
  }
}

function decimal(digits: string): number {
  const value = /^\d{1,16}$/.test(digits) ? Number(digits) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw unsafe("impossible size");
  return value;
}
