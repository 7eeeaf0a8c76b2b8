import { gzipSync, zstdCompressSync } from "node:zlib";
import { type Random, random } from "./random.ts";
import { randomImage } from "./random-image.ts";
import { type RawEntry, tarball } from "./tarball.ts";

/** A manipulated layer. */
export interface MutatedLayer {
  /** The bytes of the blob. */
  readonly packed: Buffer;
  /** The archive, if it was manipulated before the compression. */
  readonly archive: Buffer;
}

const BLOCK = 512;
const TYPES = "0123456789ABDEFGIKLMNSVXZgxcs\0\x01\x80\xff";
const ATTRIBUTES = [
  "path",
  "linkpath",
  "size",
  "mtime",
  "mode",
  "uid",
  "GNU.sparse.major",
  "SCHILY.xattr.user.overlay.opaque",
];

/**
 * A random layer with changes to its entries, to the bytes of its archive, or to the compressed blob. Paths and links
 * aim at `outside`. Types, sizes and checksums are wrong. Blocks are missing, repeated or reordered.
 */
export function mutatedLayer(seed: number, outside: string): MutatedLayer {
  const dice = random(seed);
  const { layers } = randomImage(dice.below(2 ** 30), { orderly: false });
  const entries = layers.flat().map((entry) => ({ ...entry }));
  for (let i = 0, count = dice.below(4); i < count; i++) mutateEntry(dice, entries, outside);
  let archive = tarball(entries);
  if (dice.oneIn(2)) for (let i = 0, count = 1 + dice.below(4); i < count; i++) archive = mutateBytes(dice, archive);
  // The initialisation of a compressor takes most of the time.
  const pack = dice.below(8);
  const packed = pack < 5 ? archive : pack < 7 ? gzipSync(archive, { level: 1 }) : zstdCompressSync(archive);
  return { archive, packed: dice.oneIn(8) ? scramble(dice, packed) : packed };
}

function hostileNames(outside: string): string[] {
  return [
    "..",
    "../secret",
    "a/../../secret",
    "/",
    ".",
    "",
    `${"../".repeat(12)}${outside.slice(1)}/secret`,
    `${outside}/secret`,
    outside,
    "a/..",
    ".wh.",
    ".wh..",
    ".wh...",
    "a/.wh..",
    "a/.wh...",
    ".wh..wh..opq",
    ".wh..wh.plnk/x",
    ".wh.a/b",
    "a\0b",
    "a//b///",
    "\x1b[2J",
    "a".repeat(300),
    "d/".repeat(300),
    "\\..\\x",
    "%2e%2e/x",
    "proc/self/root",
    "__proto__/x",
  ];
}

function mutateEntry(dice: Random, entries: RawEntry[], outside: string): void {
  const at = dice.below(entries.length + 1);
  const entry = entries[at];
  const hostile = dice.pick(hostileNames(outside));
  if (entry === undefined || dice.oneIn(4)) {
    // The beginning of many attacks: a link to the outside, and then a path through it.
    const link: RawEntry = {
      name: dice.pick(["a", "lib", "usr"]),
      type: dice.pick(["1", "2", "2"]),
      link: hostile.slice(0, 99),
    };
    const through: RawEntry = {
      name: `${String(link.name)}/${dice.pick(["secret", "x", ".wh.secret", "..", ".wh..wh..opq"])}`,
      content: "pwned",
    };
    const again: RawEntry = {
      name: String(link.name),
      type: dice.pick(["0", "1", "5", "6"]),
      link: "lib/secret",
      content: "",
    };
    entries.splice(
      at,
      0,
      ...dice.pick([
        [link, through],
        [link, again],
        [link, through, again],
      ]),
    );
    return;
  }
  switch (dice.below(9)) {
    case 0:
      entry.name = hostile.slice(0, 99);
      delete entry.pax;
      break;
    case 1:
      entry.pax = { ...entry.pax, path: hostile };
      break;
    case 2:
      entry.link = hostile.slice(0, 99);
      break;
    case 3:
      entry.pax = { ...entry.pax, linkpath: hostile };
      break;
    case 4:
      entry.type = dice.pick([...TYPES]);
      break;
    case 5:
      entry.size = dice.pick([-1, 0, 1, 511, 512, 513, 2 ** 31, 2 ** 33, 2 ** 53, 2 ** 62]);
      break;
    case 6:
      entry.pax = {
        ...entry.pax,
        [dice.pick(ATTRIBUTES)]: dice.pick(["", "-1", "0", "1e300", "x", "9223372036854775808", hostile]),
      };
      break;
    case 7:
      entries.splice(at, 1);
      break;
    default:
      entries.splice(dice.below(entries.length), 0, {
        ...entry,
        name: dice.oneIn(2) ? entry.name : hostile.slice(0, 99),
      });
  }
}

function mutateBytes(dice: Random, archive: Buffer): Buffer {
  const blocks = Math.max(1, Math.floor(archive.length / BLOCK));
  const at = dice.below(blocks) * BLOCK;
  const block = (): Buffer => archive.subarray(at, at + BLOCK);
  switch (dice.below(8)) {
    case 0:
      return archive.subarray(0, dice.below(archive.length + 1));
    case 1:
      return Buffer.concat([archive.subarray(0, at), archive.subarray(at + BLOCK)]);
    case 2:
      return Buffer.concat([archive.subarray(0, at), block(), archive.subarray(at)]);
    case 3: {
      const from = dice.below(blocks) * BLOCK;
      return Buffer.concat([
        archive.subarray(0, at),
        archive.subarray(from, from + BLOCK * (1 + dice.below(3))),
        archive.subarray(at),
      ]);
    }
    case 4:
      return scramble(dice, archive);
    default: {
      // Changes a header, and corrects its checksum.
      const copy = Buffer.from(archive);
      const header = copy.subarray(at, at + BLOCK);
      for (let i = 0, count = 1 + dice.below(6); i < count; i++)
        header[dice.below(header.length)] = dice.pick([0, 0x20, 0x2e, 0x2f, 0x30, 0x37, 0x80, 0xff, dice.below(256)]);
      if (header.length === BLOCK) sign(header);
      return copy;
    }
  }
}

function scramble(dice: Random, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let i = 0, count = 1 + dice.below(4); i < count && copy.length > 0; i++)
    copy[dice.below(copy.length)] = dice.below(256);
  return copy;
}

function sign(header: Buffer): void {
  header.fill(" ", 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
}
