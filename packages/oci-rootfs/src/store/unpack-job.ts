import { ImageError, type ImageErrorCode } from "../base/errors.ts";
import { type Expected, verifiedBytes } from "../image/verified-bytes.ts";
import type { Owner } from "../layer/layer-files.ts";
import type { LayerLimits } from "../layer/layer-limits.ts";
import type { LayerRecord } from "../layer/layer-record.ts";
import { unpackLayer } from "../layer/unpack-layer.ts";
import { type GrowingFile, readGrowing } from "./growing-file.ts";
import { lowerView, type ViewedLayer } from "./lower-view.ts";

/** A layer to unpack, as data that can be sent to another thread. */
export interface UnpackJob {
  /** The packed layer. */
  readonly file: GrowingFile;
  /** The directory to create. */
  readonly root: string;
  readonly limits: LayerLimits;
  readonly owner: Owner | undefined;
  /** The layers below, bottom first, if the layer is unpacked for its position in one image. */
  readonly lower: readonly ViewedLayer[] | undefined;
  /** The paths that it deletes and hides, if it was unpacked alone before. */
  readonly named: LayerRecord["named"] | undefined;
  readonly diffId: string;
  readonly packedBytes: number;
  /** Digest and size of the packed bytes; undefined if the writer of the file verifies them. */
  readonly verify: Expected | undefined;
}

/** The result of a job. */
export type UnpackOutcome = { readonly record: LayerRecord } | { readonly error: SentError };

/** An ImageError as data that can be sent to another thread. */
export interface SentError {
  readonly code: ImageErrorCode;
  readonly message: string;
  readonly entry: string | undefined;
  readonly digest: string | undefined;
  readonly retryable: boolean;
  /** The code of a system error, such as `ENOSPC`. */
  readonly systemCode: string | undefined;
}

/** Unpacks a layer on this thread. @throws ImageError */
export async function unpackHere(job: UnpackJob): Promise<LayerRecord> {
  const { file, verify, lower, ...rest } = job;
  const bytes = readGrowing(file);
  const source = verify === undefined ? bytes : verifiedBytes(bytes, verify);
  let failure: unknown;
  try {
    const record = await unpackLayer({
      ...rest,
      lower: lower && lowerView(lower),
      source: { [Symbol.asyncIterator]: () => ({ next: () => source.next() }) },
    });
    await drain(source);
    return record;
  } catch (error) {
    // A wrong digest of the blob is the better error than the damage that it caused in the archive.
    if (verify !== undefined && error instanceof ImageError && error.code === "UnsafeLayer")
      await drain(source).catch((damage: unknown) => (failure = damage));
    throw failure ?? error;
  } finally {
    await bytes.return();
  }
}

/** Reads the rest of the blob: the compressed stream may end before it. */
async function drain(source: AsyncGenerator<Uint8Array, void>): Promise<void> {
  for (let next = await source.next(); !next.done; ) next = await source.next();
}

export function sendError(thrown: unknown): SentError {
  const error = ImageError.from(thrown);
  const { code, rawMessage, entry, digest, retryable, cause } = error;
  const systemCode = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined;
  return { code, message: rawMessage, entry, digest, retryable, systemCode };
}

export function receiveError({ code, message, entry, digest, retryable, systemCode }: SentError): ImageError {
  const cause = systemCode === undefined ? undefined : Object.assign(new Error(message), { code: systemCode });
  const location = { ...(entry !== undefined && { entry }), ...(digest !== undefined && { digest }) };
  return new ImageError(code, message, { ...location, retryable, cause });
}
