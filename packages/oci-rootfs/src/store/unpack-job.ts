import { ImageError, type ImageErrorCode } from "../base/errors.ts";
import { type Expected, verifiedBytes } from "../image/verified-bytes.ts";
import type { LayerLimits } from "../layer/layer-limits.ts";
import type { LayerRecord } from "../layer/layer-record.ts";
import type { Owner } from "../layer/layer-writer.ts";
import { unpackLayer } from "../layer/unpack-layer.ts";
import { type GrowingFile, readGrowing } from "./growing-file.ts";
import { lowerView, type ViewedLayer } from "./lower-view.ts";

/** One layer to unpack, in data that can be sent to another thread. */
export interface UnpackJob {
  /** The packed layer. */
  readonly file: GrowingFile;
  /** The directory to make. */
  readonly root: string;
  readonly limits: LayerLimits;
  readonly owner: Owner | undefined;
  /** The layers below, bottom first, if the layer is unpacked for one place only. */
  readonly lower: readonly ViewedLayer[] | undefined;
  /** What it deletes, if it has been unpacked by itself before. */
  readonly named: LayerRecord["named"] | undefined;
  readonly diffId: string;
  readonly packedBytes: number;
  /** What the packed bytes must be, unless the one who writes the file sees to that. */
  readonly verify: Expected | undefined;
}

/** What came of a job. */
export type UnpackOutcome = { readonly record: LayerRecord } | { readonly error: SentError };

/** An ImageError in data. */
export interface SentError {
  readonly code: ImageErrorCode;
  readonly message: string;
  readonly entry: string | undefined;
  readonly digest: string | undefined;
  readonly retryable: boolean;
  /** The system's code, such as `ENOSPC`. */
  readonly systemCode: string | undefined;
}

/** Unpacks the layer here, on this thread. @throws ImageError */
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
    // That the blob is damaged is a better answer than what the damage did to the archive.
    if (verify !== undefined && error instanceof ImageError && error.code === "UnsafeLayer")
      await drain(source).catch((damage: unknown) => (failure = damage));
    throw failure ?? error;
  } finally {
    await bytes.return();
  }
}

/** The decompressor may have had enough before the blob ended. */
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
  const place = { ...(entry !== undefined && { entry }), ...(digest !== undefined && { digest }) };
  return new ImageError(code, message, { ...place, retryable, cause });
}
