import { ImageError } from "../base/errors.ts";
import { type Expected, verifiedBytes } from "../image/verified-bytes.ts";
import type { Owner } from "../layer/layer-files.ts";
import type { LayerLimits } from "../layer/layer-limits.ts";
import { fitsOn, type LayerRecord } from "../layer/layer-record.ts";
import { type LayerContent, unpackLayer, verifyLayer } from "../layer/unpack-layer.ts";
import { type GrowingFile, readGrowing } from "./growing-file.ts";
import { readLayerPaths, writeLayerRecord } from "./layer-record-files.ts";
import { imageTree } from "./lower-view.ts";

/** A packed layer, as data that can be sent to another thread. */
export interface PackedLayer {
  /** The packed layer. */
  readonly file: GrowingFile;
  readonly limits: LayerLimits;
  readonly diffId: string;
  readonly packedBytes: number;
  /** Whether it is a WebAssembly module instead of an archive. */
  readonly isModule?: boolean;
  /** Digest and size of the packed bytes; undefined if the writer of the file verifies them. */
  readonly verify: Expected | undefined;
}

/** The position of a layer in one image. */
export interface Position {
  /** The directories of the layers below, bottom first. */
  readonly lower: readonly string[];
  /** The directory of the layer, unpacked alone before, which has the paths that it deletes and hides. */
  readonly alone: string;
}

/** A layer to unpack. */
export interface UnpackJob extends PackedLayer {
  /** The directory to create. Its records are written into its parent. */
  readonly root: string;
  readonly owner: Owner | undefined;
  /** The position for which the layer is unpacked; undefined: alone. */
  readonly position: Position | undefined;
}

/** Limits beyond which a layer is left to a worker. */
export interface SmallLayer {
  /** Entries, or files and directories. */
  readonly maxNodes: number;
  /** Unpacked bytes. */
  readonly maxBytes: number;
}

/** A layer that was unpacked alone, and the layers below it, as directories. */
export interface FitJob {
  readonly root: string;
  readonly lower: readonly string[];
}

/** Unpacks a layer on this thread. Returns undefined if it is not small. @throws ImageError */
export async function unpackHere(job: UnpackJob, small?: SmallLayer): Promise<LayerRecord | undefined> {
  const { root, owner, position } = job;
  return await readingPacked(job, async (content) => {
    const unpacked = await unpackLayer({
      ...content,
      ...small,
      root,
      owner,
      lower: position && imageTree(position.lower),
      named: position && readLayerPaths(position.alone).named,
    });
    if (unpacked !== undefined) writeLayerRecord(root, unpacked);
    return unpacked?.record;
  });
}

/** Verifies the digest of a layer's unpacked content. @throws ImageError */
export async function verifyHere(job: PackedLayer): Promise<undefined> {
  await readingPacked(job, async (content) => {
    await verifyLayer(content);
    return true;
  });
}

/** Whether a layer that was unpacked alone is correct on top of the layers below. */
export function fitsHere({ root, lower }: FitJob): boolean {
  return fitsOn(readLayerPaths(root), imageTree(lower));
}

async function readingPacked<T>(
  { file, verify, limits, diffId, packedBytes, isModule = false }: PackedLayer,
  work: (content: LayerContent) => Promise<T | undefined>,
): Promise<T | undefined> {
  const bytes = readGrowing(file);
  const packed = verify === undefined ? bytes : verifiedBytes(bytes, verify);
  const source = { [Symbol.asyncIterator]: () => ({ next: () => packed.next() }) };
  let failure: unknown;
  try {
    const result = await work({ source, limits, diffId, packedBytes, isModule });
    if (result !== undefined) await drain(packed);
    return result;
  } catch (error) {
    // A wrong digest of the blob is the better error than the damage that it caused in the archive.
    const unpacking = error instanceof ImageError && (error.code === "UnsafeLayer" || error.code === "DigestMismatch");
    if (verify !== undefined && unpacking) await drain(packed).catch((damage: unknown) => (failure = damage));
    throw failure ?? error;
  } finally {
    await bytes.return();
  }
}

/** Reads the rest of the blob: the compressed stream may end before it. */
async function drain(source: AsyncGenerator<Uint8Array, void>): Promise<void> {
  for (let next = await source.next(); !next.done; ) next = await source.next();
}
