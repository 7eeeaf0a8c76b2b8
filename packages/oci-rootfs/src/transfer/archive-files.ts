import { createHash } from "node:crypto";
import { closeSync, createReadStream, openSync, writeSync } from "node:fs";
import { posix } from "node:path";
import { ImageError } from "../base/errors.ts";
import { throwIfAborted } from "../base/single-flight.ts";
import { MAX_LAYERS } from "../image/manifest.ts";
import { type BytePath, fromBytePath, splitLinkTarget, toBytePath } from "../layer/entry-path.ts";
import { DEFAULT_LAYER_LIMITS } from "../layer/layer-limits.ts";
import { TarReader } from "../layer/tar-reader.ts";
import type { LayoutWriter } from "../store/layout.ts";

/** The oldest form of an archive has a directory and three files for each of up to 256 layers. */
const MAX_ENTRIES = 4 * (MAX_LAYERS + 16);

/** A file of an archive, extracted to a temporary path. */
export interface ArchiveFile {
  readonly temporary: string;
  readonly digest: string;
  readonly size: number;
  /** The first four bytes. */
  readonly head: Buffer;
}

/** The files of an archive by their paths, which are only names: see {@link placeOf}. */
export interface ArchiveFiles {
  readonly files: Map<BytePath, ArchiveFile>;
  /** Old archives contain a layer that occurs twice as a link to the first occurrence. */
  readonly links: Map<BytePath, BytePath>;
}

/** Extracts the files of an image archive to temporary paths, because their names are untrusted. */
export async function extractFiles(
  path: string,
  writer: LayoutWriter,
  { files, links }: ArchiveFiles,
  signal: AbortSignal | undefined,
): Promise<void> {
  let open: { name: string; temporary: string; fd: number } | undefined;
  let hash = createHash("sha256");
  let size = 0;
  let head = Buffer.alloc(0);
  let entries = 0;
  /** Whether each path is a directory. */
  const directories = new Map<BytePath, boolean>();
  const close = (): void => {
    if (open === undefined) return;
    closeSync(open.fd);
    files.set(open.name, { temporary: open.temporary, digest: `sha256:${hash.digest("hex")}`, size, head });
    open = undefined;
  };
  const reader = new TarReader({
    add(entry) {
      entries += 1;
      if (entries > MAX_ENTRIES) throw invalidArchive(`more than ${MAX_ENTRIES} entries: not an archive of one image`);
      const name = placeOf(entry.path);
      const isDirectory = entry.kind === "directory";
      // Readers differ in which of two entries they use, and would see another image.
      const earlier = directories.get(name);
      if (earlier !== undefined && !(earlier && isDirectory))
        throw invalidArchive("two entries of the archive have this name");
      directories.set(name, isDirectory);
      if (entry.kind === "symlink" || entry.kind === "link") {
        const base = entry.kind === "symlink" && !entry.target.startsWith("/") ? posix.dirname(name) : ".";
        links.set(name, placeOf(`${base}/${entry.target}`));
      }
      if (entry.kind !== "file") return;
      const temporary = writer.temporary();
      open = { name, temporary, fd: openSync(temporary, "wx", 0o600) };
      hash = createHash("sha256");
      size = 0;
      head = Buffer.alloc(0);
      if (entry.size === 0) close();
    },
    write(chunk) {
      if (open === undefined) return;
      for (let at = 0; at < chunk.length; ) at += writeSync(open.fd, chunk, at);
      hash.update(chunk);
      size += chunk.length;
      if (head.length < 4) head = Buffer.concat([head, chunk.subarray(0, 4 - head.length)]);
    },
    closeFile: close,
  });
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
      throwIfAborted(signal);
      reader.write(chunk as Buffer);
    }
    reader.end();
    refuseNested(directories);
  } catch (error) {
    close();
    throw error;
  }
}

/** The path of an entry after extraction, as in a chroot: `/a`, `./a` and `../a` are the file `a`. */
function placeOf(path: BytePath): BytePath {
  return splitLinkTarget(path, DEFAULT_LAYER_LIMITS).join("/");
}

/** Refuses entries below a link or a file: readers that extract the archive would write them to another place. */
function refuseNested(directories: ReadonlyMap<BytePath, boolean>): void {
  for (const name of directories.keys()) {
    for (let parent = posix.dirname(name); parent !== "."; parent = posix.dirname(parent)) {
      if (directories.get(parent) === false)
        throw new ImageError("InvalidManifest", "an entry of the archive has a link or a file as its directory", {
          entry: fromBytePath(name),
        });
    }
  }
}

/** Returns a file of the archive. @throws ImageError InvalidManifest if it is missing */
export function findFile({ files, links }: ArchiveFiles, name: string): ArchiveFile {
  const path = placeOf(toBytePath(name));
  const file = files.get(path) ?? files.get(links.get(path) ?? "");
  if (file === undefined)
    throw new ImageError("InvalidManifest", "manifest.json names this file, which is not in the archive", {
      entry: name,
    });
  return file;
}

/** The error of a file that is not an archive of an image. */
export function invalidArchive(why: string): ImageError {
  return new ImageError("InvalidManifest", why);
}
