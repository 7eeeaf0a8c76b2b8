/** One raw entry without validation, for hostile archives. */
export interface RawEntry {
  name: string | Buffer;
  /** Type flag of the header; default "0", a file. */
  type?: string;
  mode?: number;
  link?: string;
  content?: Uint8Array | string;
  /** The size in the header, if it differs from the content's length. */
  size?: number;
  mtime?: number;
  /** Extended header before this entry. */
  pax?: Record<string, string>;
  device?: [number, number];
}

export const file = (name: string, content: Uint8Array | string = "", mode = 0o644): RawEntry => ({
  name,
  content,
  mode,
});
export const directory = (name: string, mode = 0o755): RawEntry => ({ name: `${name}/`, type: "5", mode });
export const symlink = (name: string, link: string): RawEntry => ({ name, type: "2", link, mode: 0o777 });
export const hardlink = (name: string, link: string): RawEntry => ({ name, type: "1", link });

/** A tar archive of these entries, with two blocks of zeros at the end. */
export function tarball(entries: readonly RawEntry[]): Buffer {
  return Buffer.concat([...entries.flatMap(blocks), Buffer.alloc(1024)]);
}

function blocks(entry: RawEntry): Buffer[] {
  const content = Buffer.from(entry.content ?? "");
  const parts = [header(entry, content.length), content, padding(content.length)];
  if (entry.pax === undefined) return parts;
  const records = Buffer.from(Object.entries(entry.pax).map(paxRecord).join(""));
  return [header({ name: "PaxHeader", type: "x" }, records.length), records, padding(records.length), ...parts];
}

function paxRecord([key, value]: [string, string]): string {
  const rest = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(rest);
  while (length !== Buffer.byteLength(`${length}${rest}`)) length = Buffer.byteLength(`${length}${rest}`);
  return `${length}${rest}`;
}

function header(entry: RawEntry, length: number): Buffer {
  const block = Buffer.alloc(512);
  const name = Buffer.isBuffer(entry.name) ? entry.name : Buffer.from(entry.name);
  // Longer names go through the prefix field, as tar(1) does.
  const cut = name.length > 100 ? name.indexOf("/", name.length - 101) : -1;
  name.copy(block, 0, cut + 1, cut + 101);
  if (cut > 0) name.copy(block, 345, 0, Math.min(cut, 155));
  octal(block, 100, 8, entry.mode ?? 0o644);
  octal(block, 108, 8, 1234);
  octal(block, 116, 8, 1234);
  size(block, entry.size ?? length);
  octal(block, 136, 12, entry.mtime ?? 1_600_000_000);
  block.write(entry.type ?? "0", 156);
  block.write(entry.link ?? "", 157, 100);
  block.write("ustar\0" + "00", 257);
  if (entry.device !== undefined) {
    octal(block, 329, 8, entry.device[0]);
    octal(block, 337, 8, entry.device[1]);
  }
  block.fill(" ", 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

function octal(block: Buffer, offset: number, length: number, value: number): void {
  block.write(value.toString(8).padStart(length - 1, "0"), offset);
}

/** Base 256 for numbers that octal digits cannot represent, including negative sizes. */
function size(block: Buffer, value: number): void {
  if (value >= 0 && value < 8 ** 11) {
    octal(block, 124, 12, value);
    return;
  }
  block.fill(value < 0 ? 0xff : 0, 124, 136);
  block.writeBigInt64BE(BigInt(Math.trunc(value)), 128);
  block[124] = value < 0 ? 0xff : 0x80;
}

function padding(length: number): Buffer {
  return Buffer.alloc((512 - (length % 512)) % 512);
}
