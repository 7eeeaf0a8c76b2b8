import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, statSync } from "node:fs";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Pack, pack } from "tar-stream";
import { ImageError } from "../base/errors.ts";
import type { Descriptor } from "../image/manifest.ts";
import { OCI_LAYER, OCI_LAYER_GZIP } from "../image/media-types.ts";
import { layerGzip, PackedBytes } from "../layer/gzip-layer.ts";

/** One file of a layer to build. Times, owners and order are fixed, so that the same files give the same digest. */
export type BuildEntry = {
  /** The path in the image, with or without a leading slash. */
  readonly path: string;
  /** Permission bits. Default 0644, for directories 0755. */
  readonly mode?: number | undefined;
} & (
  | { readonly content: Uint8Array | string }
  /** A file on disk, whose mode is ignored. */
  | { readonly source: string }
  /** Target of a symbolic link. */
  | { readonly link: string }
  | { readonly directory: true }
);

export interface BuildLayer {
  readonly entries: readonly BuildEntry[];
  /** Annotations of the layer's descriptor, such as `io.crossplane.xpkg: base`. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** Default gzip. `none` is faster to build and unpack for an image that stays on this machine. */
  readonly compression?: "gzip" | "none" | undefined;
}

export interface BuiltLayer {
  readonly descriptor: Descriptor;
  readonly diffId: string;
}

/** A fixed time makes images reproducible. */
const EPOCH = new Date(0);

const MAX_MODE = 0o1777;

/**
 * Writes a layer to a file.
 *
 * @param bottom whether there is no lower layer. Then the directories that paths imply get entries. Above other
 *   layers an entry `lib/` would replace a lower link `lib -> usr/lib`.
 * @throws ImageError BuildFailed
 */
export async function buildLayer(layer: BuildLayer, path: string, bottom: boolean): Promise<BuiltLayer> {
  const entries = sortEntries(layer.entries, bottom);
  const archive = pack();
  const diff = createHash("sha256");
  const gzip = layer.compression === "none" ? [] : [layerGzip()];
  const packed = new PackedBytes(gzip.length > 0);
  const plain = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      diff.update(chunk);
      done(null, chunk);
    },
  });
  const sink = createWriteStream(path, { flags: "wx", mode: 0o600 });
  const written = pipeline([archive as unknown as NodeJS.ReadableStream, plain, ...gzip, packed, sink]);
  try {
    await Promise.all([addEntries(archive, entries), written]);
  } catch (error) {
    archive.destroy();
    await written.catch(() => {});
    throw error instanceof ImageError
      ? error
      : new ImageError("BuildFailed", (error as Error).message, { cause: error });
  }
  const descriptor = {
    mediaType: layer.compression === "none" ? OCI_LAYER : OCI_LAYER_GZIP,
    digest: packed.digest(),
    size: packed.size,
    ...(layer.annotations !== undefined && { annotations: layer.annotations }),
  };
  return { descriptor, diffId: `sha256:${diff.digest("hex")}` };
}

async function addEntries(archive: Pack, entries: readonly BuildEntry[]): Promise<void> {
  for (const entry of entries) await addEntry(archive, entry);
  archive.finalize();
}

function addEntry(archive: Pack, entry: BuildEntry): Promise<void> {
  const common = { name: entry.path, mtime: EPOCH, uid: 0, gid: 0, uname: "", gname: "" };
  return new Promise((resolve, reject) => {
    // tar-stream does not call back after a failure.
    const failed = (): void => reject(new ImageError("BuildFailed", "the archive could not be written"));
    archive.once("close", failed);
    const done = (error?: Error | null): void => {
      archive.off("close", failed);
      if (error) reject(error);
      else resolve();
    };
    if ("directory" in entry) {
      archive.entry({ ...common, name: `${entry.path}/`, type: "directory", mode: entry.mode ?? 0o755 }, done);
    } else if ("link" in entry) {
      archive.entry({ ...common, type: "symlink", linkname: entry.link, mode: 0o777 }, done);
    } else if ("content" in entry) {
      archive.entry(
        { ...common, type: "file", mode: entry.mode ?? 0o644 },
        Buffer.from(entry.content as Uint8Array),
        done,
      );
    } else {
      const stats = statSync(entry.source);
      if (!stats.isFile())
        throw new ImageError("BuildFailed", `${entry.source} is not a regular file`, { entry: entry.path });
      // The archive fails if the file's size changes.
      const sink = archive.entry({ ...common, type: "file", mode: entry.mode ?? 0o644, size: stats.size }, done);
      pipeline(createReadStream(entry.source), sink as unknown as NodeJS.WritableStream).catch(reject);
    }
  });
}

function sortEntries(entries: readonly BuildEntry[], bottom: boolean): BuildEntry[] {
  const byPath = new Map<string, BuildEntry>();
  for (const entry of entries) {
    const parts = entry.path.split("/").filter((part) => part !== "" && part !== ".");
    const path = parts.join("/");
    const wrong = check(entry, parts);
    if (wrong !== undefined) throw new ImageError("BuildFailed", wrong, { entry: entry.path });
    if (byPath.has(path)) throw new ImageError("BuildFailed", "the layer has two files of this name", { entry: path });
    byPath.set(path, { ...entry, path });
  }
  if (bottom) {
    // The loop also adds all parents of an added path, so the keys are copied first.
    for (const path of Array.from(byPath.keys())) {
      for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
        const parent = path.slice(0, at);
        if (!byPath.has(parent)) byPath.set(parent, { path: parent, directory: true });
      }
    }
  }
  // Compares bytes, because the order must not depend on a locale.
  return [...byPath.values()].sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
}

function check(entry: BuildEntry, parts: readonly string[]): string | undefined {
  if (parts.length === 0) return "a path must name a file in the image";
  if (parts.includes("..")) return "a path must not lead out of the image";
  if (parts.some((part) => part.startsWith(".wh."))) return "a name that begins with .wh. would delete a file";
  if (entry.path.includes("\0")) return "a path must not contain a NUL byte";
  const { mode } = entry;
  if (mode !== undefined && (!Number.isInteger(mode) || mode < 0 || mode > MAX_MODE))
    return `mode ${mode} is invalid: expected permission bits, at most 0o1777`;
  return undefined;
}
