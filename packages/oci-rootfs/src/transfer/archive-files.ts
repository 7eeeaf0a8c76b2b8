import { createHash } from "node:crypto";
import { closeSync, createReadStream, openSync, writeSync } from "node:fs";
import { posix } from "node:path";
import { ImageError } from "../base/errors.ts";
import { throwIfAborted } from "../base/single-flight.ts";
import { MAX_LAYERS } from "../image/manifest.ts";
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

export interface ArchiveFiles {
  readonly files: Map<string, ArchiveFile>;
  /** Old archives contain a layer that occurs twice as a link to the first occurrence. */
  readonly links: Map<string, string>;
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
      const name = posix.normalize(entry.path);
      if (entry.kind === "symlink" || entry.kind === "link") {
        const base = entry.kind === "symlink" ? posix.dirname(name) : ".";
        links.set(name, posix.normalize(posix.join(base, entry.target)));
      }
      if (entry.kind !== "file") return;
      // A reader that uses the other file would see another image.
      if (files.has(name) || links.has(name)) throw invalidArchive(`two files have the name ${JSON.stringify(name)}`);
      const temporary = writer.temporary();
      open = { name, temporary, fd: openSync(temporary, "wx", 0o600) };
      hash = createHash("sha256");
      size = 0;
      head = Buffer.alloc(0);
      if (entry.size === 0) close();
    },
    write(chunk) {
      if (open === undefined) return;
      writeSync(open.fd, chunk);
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
  } catch (error) {
    close();
    throw error;
  }
}

/** Returns a file of the archive. @throws ImageError InvalidManifest if it is missing */
export function findFile({ files, links }: ArchiveFiles, name: string): ArchiveFile {
  const path = posix.normalize(name);
  const file = files.get(path) ?? files.get(links.get(path) ?? "");
  if (file === undefined)
    throw invalidArchive(`manifest.json names ${JSON.stringify(name)}, which is not in the archive`);
  return file;
}

/** The error of a file that is no archive of an image. */
export function invalidArchive(why: string): ImageError {
  return new ImageError("InvalidManifest", why);
}
