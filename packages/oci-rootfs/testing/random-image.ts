import { gzipSync, zstdCompressSync } from "node:zlib";
import { type TestImage, testImage } from "./layout.ts";
import { type Random, random } from "./random.ts";
import { type RawEntry, tarball } from "./tarball.ts";
import { rleFrame, skippableFrame } from "./zstd.ts";

/** The entries of an image's layers, bottom first. */
export interface RandomImage {
  readonly layers: readonly (readonly RawEntry[])[];
  readonly packing: Packing;
}

/** The compression of layers: `gzip` in one or several members, `zstd` in one or several frames. */
export interface Packing {
  readonly format: "tar" | "gzip" | "zstd";
  /** Chooses where members and frames end, and what stands between them. */
  readonly seed: number;
}

/**
 * A few names, so that layers conflict. Some are too long for a header, in other alphabets, or not UTF-8.
 */
const NAMES = ["a", "b", "c", "d", "e", "lib", "usr", "x y", "-rf", "é", "e\u0301", "A", "n".repeat(130)];
const MODES = [0o644, 0o755, 0o600, 0o400, 0o777, 0o4755, 0o2755, 0o6711, 0o1777, 0o666, 0o700];

type Kind = "file" | "directory" | "symlink" | "fifo";

/** The paths of the image so far, so that later entries can replace and delete them. */
class Known extends Map<string, { readonly kind: Kind; readonly layer: number }> {
  layer = 0;

  copy(): Known {
    return Object.assign(new Known(this), { layer: this.layer });
  }

  put(path: string, kind: Kind): void {
    // The directory may exist, with content.
    if (kind !== "directory" || this.get(path)?.kind !== "directory") this.forget(path, this.layer);
    this.set(path, { kind, layer: this.layer });
  }

  /** Removes the path and everything below it. */
  forget(path: string, layer: number): void {
    for (const [at, known] of this)
      if ((at === path || at.startsWith(`${path}/`)) && known.layer <= layer) this.delete(at);
  }

  of(...kinds: Kind[]): string[] {
    return [...this].filter(([, { kind }]) => kinds.includes(kind)).map(([path]) => path);
  }
}

/**
 * An image of one to five layers that change, delete and replace each other's files. Most images are valid.
 *
 * @param orderly avoids images for which `pullsTheRug` is true; default true
 */
export function randomImage(seed: number, { orderly = true }: { orderly?: boolean } = {}): RandomImage {
  const dice = random(seed);
  let known = new Known();
  const layers: RawEntry[][] = [];
  const count = 1 + dice.below(5);
  for (; known.layer < count; known.layer++) {
    const entries: RawEntry[] = [];
    const deleted: string[] = [];
    for (let j = 0, size = 1 + dice.below(14); j < size; j++) {
      const next = known.copy();
      const entry = randomEntry(dice, next, deleted);
      if (orderly && pullsTheRug({ layers: [[...entries, ...entry]] }) && !dice.oneIn(50)) continue;
      entries.push(...entry);
      known = next;
    }
    layers.push(entries);
    for (const path of deleted) known.forget(path, known.layer - 1);
  }
  return { layers, packing: { format: dice.pick(["tar", "gzip", "zstd"]), seed: dice.below(2 ** 30) } };
}

/** Compresses the layers. */
export function packImage({ layers, packing }: RandomImage): TestImage {
  const { format } = packing;
  return testImage(
    layers.map((entries) => tarball(entries)),
    {
      pack: (archive) => pack(archive, packing),
      layerType: `application/vnd.oci.image.layer.v1.tar${format === "tar" ? "" : `+${format}`}`,
    },
  );
}

function pack(archive: Buffer, { format, seed }: Packing): Buffer {
  const dice = random(seed);
  if (format === "tar") return archive;
  const parts: Buffer[] = [];
  for (let at = 0; at < archive.length; ) {
    // One part as a rule. Others end anywhere, as those of pzstd and pigz, and are empty at times.
    const length = dice.oneIn(3) ? dice.below(3 * 512) : archive.length;
    const content = archive.subarray(at, at + length);
    at += length;
    if (format === "gzip") parts.push(gzipSync(content, { level: 1 }));
    else parts.push(...zstdFrames(dice, content));
  }
  return Buffer.concat(parts);
}

function zstdFrames(dice: Random, content: Buffer): Buffer[] {
  const isEven = content.length > 0 && content.every((byte) => byte === content[0]);
  // zstd declares a window of 2 GiB with --long=31.
  const frame = isEven && dice.oneIn(2) ? rleFrame(content.length, { windowLog: 31, byte: content[0] }) : undefined;
  // zstd:chunked and the seekable format have their index in skippable frames.
  const skipped = (): Buffer[] => (dice.oneIn(3) ? [skippableFrame(Buffer.alloc(dice.below(50)), dice.below(16))] : []);
  return [...skipped(), frame ?? zstdCompressSync(content), ...skipped()];
}

/** Whether an entry deletes something. */
export function isWhiteout(entry: RawEntry): boolean {
  return /(?:^|\/)\.wh\./.test(pathOf(entry));
}

/**
 * Whether a layer has a path through a name that it also replaces by a file. Also whether it has a whiteout below a
 * name that it deletes. If the name was a link, the order of the two entries decides about the result.
 */
export function pullsTheRug({ layers }: Pick<RandomImage, "layers">): boolean {
  return layers.some((entries) => {
    const replaced = new Set(entries.filter(({ type }) => type !== "5").map(pathOf));
    const deleted = new Set(entries.filter(isWhiteout).map((entry) => pathOf(entry).replace(/(^|\/)\.wh\./, "$1")));
    const marked = new Set(entries.filter(isMark).map((entry) => pathOf(entry).replace(/\/?[^/]*$/, "")));
    const later = (path: string, i: number): boolean => entries.slice(i).some((entry) => pathOf(entry) === path);
    return entries.some((entry, i) =>
      above(pathOf(entry)).some(
        (path, at, all) =>
          replaced.has(path) ||
          later(path, i) ||
          (isWhiteout(entry) && (deleted.has(path) || (marked.has(path) && (at < all.length - 1 || !isMark(entry))))),
      ),
    );
  });
}

function isMark(entry: RawEntry): boolean {
  return pathOf(entry).endsWith(".wh..wh..opq");
}

function above(path: string): string[] {
  return [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index));
}

function pathOf(entry: RawEntry): string {
  return (entry.pax?.["path"] ?? String(entry.name)).replace(DETOUR, "").replace(/^\.?\/|\/$/g, "");
}

function randomEntry(dice: Random, known: Known, deleted: string[]): RawEntry[] {
  const path = randomPath(dice, known);
  const mode = dice.oneIn(3) ? dice.pick(MODES) : undefined;
  const name = written(dice, path);
  switch (dice.below(known.layer > 0 ? 14 : 9)) {
    case 0:
    case 1:
      known.put(path, "directory");
      return [{ ...named(dice, `${name}/`), type: "5", mode: mode ?? 0o755 }];
    case 2: {
      const link = randomTarget(dice, known);
      known.put(path, "symlink");
      return [{ ...named(dice, name), type: "2", link, mode: 0o777 }];
    }
    case 3: {
      const files = known.of("file", "symlink", "fifo").filter((file) => !deleted.some((gone) => isBelow(file, gone)));
      const target = dice.oneIn(60) || files.length === 0 ? path : dice.pick(files);
      if (target.length > 80 || (isBelow(target, path) && !dice.oneIn(10))) return [];
      known.put(path, known.get(target)?.kind ?? "file");
      return [{ ...named(dice, name), type: "1", link: spelled(dice, target) }];
    }
    case 4: {
      const special = { ...named(dice, name), mode: mode ?? 0o644 };
      switch (dice.below(3)) {
        case 0:
          known.put(path, "fifo");
          return [{ ...special, type: "6" }];
        case 1:
          // An empty file, where devices cannot be created.
          known.put(path, "file");
          return [{ ...special, type: dice.pick(["3", "4"]), device: [dice.below(9), dice.below(9)] }];
        default:
          return [];
      }
    }
    case 9:
    case 10:
    case 11: {
      const gone = known.size === 0 || dice.oneIn(6) ? path : dice.pick([...known.keys()]);
      deleted.push(gone);
      const slash = gone.lastIndexOf("/") + 1;
      return [{ ...named(dice, `${gone.slice(0, slash)}.wh.${gone.slice(slash)}`), content: "" }];
    }
    case 12: {
      const directories = known.of("directory");
      const at = directories.length === 0 ? path : dice.pick(directories);
      deleted.push(...[...known.keys()].filter((below) => below !== at && isBelow(below, at)));
      return [{ ...named(dice, `${at}/.wh..wh..opq`), content: "" }];
    }
    default:
      known.put(path, "file");
      return [
        {
          ...named(dice, name),
          content: `${path} ${dice.below(1000)}`.repeat(dice.pick([0, 1, 1, 1, 40])),
          mode: mode ?? 0o644,
        },
      ];
  }
}

function isBelow(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}/`);
}

/** A path that exists, or one below it; rarely below a file. */
function randomPath(dice: Random, known: Known): string {
  for (;;) {
    const path = anyPath(dice, known);
    const above = [...path.matchAll(/\//g)].map(({ index }) => known.get(path.slice(0, index))?.kind);
    const leaf = above.includes("file") || above.includes("fifo");
    if ((!leaf || dice.oneIn(200)) && (!above.includes("symlink") || dice.oneIn(6))) return path;
  }
}

function anyPath(dice: Random, known: Known): string {
  if (known.size > 0 && dice.oneIn(4)) return dice.pick([...known.keys()]);
  const parents = known.of("directory", "symlink");
  const parent = parents.length > 0 && !dice.oneIn(3) ? `${dice.pick(parents)}/` : "";
  const depth = dice.oneIn(4) ? 2 : 1;
  return parent + Array.from({ length: depth }, () => dice.pick(NAMES)).join("/");
}

function randomTarget(dice: Random, known: Known): string {
  const directories = known.of("directory");
  const path = directories.length === 0 || dice.oneIn(4) ? dice.pick(NAMES) : dice.pick(directories);
  const target = dice.pick([
    path,
    path,
    `/${path}`,
    `../${path}`,
    path.split("/").at(-1) ?? path,
    "..",
    "/",
    "../../..",
  ]);
  return target.length > 100 ? "a" : target;
}

/** The path in one of the forms that archives use. */
function written(dice: Random, path: string): string {
  return dice.pick([path, path, path, path, `./${path}`, `/${path}`, `${DETOUR}${path}`]);
}

/** Cancelled by the `..`, also if there is no such directory. */
const DETOUR = "q/../";

/** The target of a hard link in one of the forms that archives use. */
function spelled(dice: Random, path: string): string {
  const forms = [
    `./${path}`,
    `/${path}`,
    `../../${path}`,
    `/../${path}`,
    `${DETOUR}${path}`,
    path.replaceAll("/", "/.//"),
  ];
  return dice.oneIn(2) ? path : dice.pick(forms);
}

/** A name in the header, or, if it is too long and at random, in a PAX record. */
function named(dice: Random, name: string): RawEntry {
  const long = Buffer.byteLength(name) > 99 || dice.oneIn(8);
  return long ? { name: "short", pax: { path: name } } : { name };
}
