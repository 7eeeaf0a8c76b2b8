import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ImageError } from "../base/errors.ts";
import { makeFolder } from "../base/make-folder.ts";
import { readOpenFile } from "../base/small-file.ts";
import { digestOf, isOfDigest, parseDigest } from "../image/digest.ts";
import type { LayoutName } from "../image/image-name.ts";
import type { ImageSource, SourceManifest } from "../image/image-source.ts";
import {
  type Descriptor,
  type ImageIndex,
  MAX_LAYOUT_INDEX_BYTES,
  MAX_MANIFEST_BYTES,
  parseLayoutIndex,
} from "../image/manifest.ts";

/** Annotation that carries a layout's tag (OCI image-spec, "Pre-Defined Annotation Keys"). */
const REF_NAME = "org.opencontainers.image.ref.name";

const READ_BYTES = 256 * 1024;

/** A layout as a source of images. Its content is as untrusted as a registry's. */
export function layoutSource({ dir }: Pick<LayoutName, "dir">): ImageSource {
  const blobPath = (digest: string): string => {
    const { algorithm, hex } = parseDigest(digest);
    return join(dir, "blobs", algorithm, hex);
  };
  return {
    async manifest(selector) {
      const digest = "digest" in selector ? selector.digest : readLayoutEntry({ dir, tag: selector.tag }).digest;
      return readManifest(dir, blobPath(digest), digest);
    },
    async blob({ digest }) {
      const path = blobPath(digest);
      const fd = openInside(dir, path);
      if (fstatSync(fd).isFile()) return createReadStream(path, { fd, highWaterMark: READ_BYTES });
      closeSync(fd);
      throw new ImageError("InvalidManifest", `${path} is not a regular file`, { digest });
    },
    async close() {},
  };
}

function readManifest(dir: string, path: string, digest: string): SourceManifest {
  const fd = openInside(dir, path);
  try {
    const bytes = readOpenFile(fd, path, MAX_MANIFEST_BYTES);
    if (isOfDigest(bytes, digest)) return { bytes, digest };
    throw new ImageError("DigestMismatch", `the content's digest is ${digestOf(bytes)}`, { digest });
  } finally {
    closeSync(fd);
  }
}

/**
 * Opens a file of a layout. A symbolic link to a file outside would reveal that file's size and digest in
 * error messages.
 */
function openInside(dir: string, path: string): number {
  let fd: number;
  try {
    // Opening a FIFO would block.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
    throw new ImageError("NotFound", `${path} does not exist`, { cause });
  }
  try {
    // The path of the open file: a link could be replaced after a check.
    if (!readlinkSync(`/proc/self/fd/${fd}`).startsWith(`${realpathSync(dir)}/`))
      throw new ImageError(
        "InvalidManifest",
        `${path} is a symbolic link to a file outside of the layout: copy the layout with cp -rL`,
      );
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** The layout's manifest or index for a tag; without a tag, its only one. @throws ImageError NotFound */
export function readLayoutEntry({ dir, tag }: Pick<LayoutName, "dir" | "tag">): Descriptor {
  const index = readLayoutIndex(dir);
  if (index === undefined)
    throw new ImageError("NotFound", `${join(dir, "index.json")} does not exist: not an OCI layout`);
  const named = (entry: Descriptor): string | undefined => entry.annotations?.[REF_NAME];
  const { manifests } = index;
  const fitting =
    tag === undefined ? manifests : manifests.filter((entry) => named(entry) === tag || entry.digest === tag);
  const chosen =
    fitting.length === 1
      ? fitting[0]
      : (fitting.find((entry) => named(entry) === "latest") ?? (tag === undefined ? undefined : fitting[0]));
  if (chosen !== undefined) return chosen;
  const tags = manifests.map(named).filter((name) => name !== undefined);
  const choice = tags.length === 0 ? "no tags" : `the tags ${tags.join(", ")}`;
  if (tag === undefined)
    throw new ImageError(
      "NotFound",
      `${dir} has ${manifests.length} images, and the name must select one: it has ${choice}`,
    );
  throw new ImageError("NotFound", `${dir} has no image tagged ${tag}: it has ${choice}`);
}

function readLayoutIndex(dir: string): ImageIndex | undefined {
  const path = join(dir, "index.json");
  let fd: number;
  try {
    fd = openInside(dir, path);
  } catch (error) {
    if (error instanceof ImageError && error.code === "NotFound") return undefined;
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw error;
  }
  try {
    return parseLayoutIndex(readOpenFile(fd, path, MAX_LAYOUT_INDEX_BYTES));
  } finally {
    closeSync(fd);
  }
}

/** Writes a layout: blobs first, then `tag` replaces `index.json` atomically, which adds the image. */
export interface LayoutWriter {
  /** @param size the expected bytes, because an interrupted writer may have left a truncated blob */
  has(digest: string, size?: number): boolean;
  /** Returns a path in the layout for a blob that is being written. */
  temporary(): string;
  commit(temporary: string, digest: string): void;
  discard(temporary: string): void;
  write(digest: string, bytes: Uint8Array): void;
  tag(descriptor: Descriptor, tag: string | undefined): void;
}

/** Opens or creates a layout. Its other images stay. */
export function layoutWriter(dir: string): LayoutWriter {
  const blobs = join(dir, "blobs", "sha256");
  makeFolder(blobs);
  let counter = 0;
  const pathOf = (digest: string): string => {
    const { algorithm, hex } = parseDigest(digest);
    if (algorithm !== "sha256") makeFolder(join(dir, "blobs", algorithm));
    return join(dir, "blobs", algorithm, hex);
  };
  const writer: LayoutWriter = {
    has(digest, size) {
      const stats = statSync(pathOf(digest), { throwIfNoEntry: false });
      return stats !== undefined && (size === undefined || stats.size === size);
    },
    temporary: () => join(dir, "blobs", `.${process.pid}-${(counter += 1)}.tmp`),
    commit: (temporary, digest) => renameSync(temporary, pathOf(digest)),
    discard: (temporary) => rmSync(temporary, { force: true }),
    write(digest, bytes) {
      const aside = writer.temporary();
      writeFileSync(aside, bytes);
      writer.commit(aside, digest);
    },
    tag(descriptor, tag) {
      const others = (readLayoutIndex(dir)?.manifests ?? []).filter((entry) => entry.annotations?.[REF_NAME] !== tag);
      const { annotations: _, ...plain } = descriptor;
      const entry =
        tag === undefined ? plain : { ...plain, annotations: { ...descriptor.annotations, [REF_NAME]: tag } };
      const index = {
        schemaVersion: 2,
        mediaType: "application/vnd.oci.image.index.v1+json",
        manifests: [...others, entry],
      };
      const replace = (file: string, content: string): void => {
        const aside = writer.temporary();
        writeFileSync(aside, content);
        renameSync(aside, join(dir, file));
      };
      replace("oci-layout", '{"imageLayoutVersion":"1.0.0"}');
      replace("index.json", JSON.stringify(index));
    },
  };
  return writer;
}
