import { escapeUnsafe } from "@xfn/json/text";
import type { PruneResult, Store, StoredImage } from "@xfn/oci-rootfs";
import { ExitCode } from "@xfn/program/exit-code";
import { oneLine } from "@xfn/program/terminal-text";
import { CliError } from "../errors/cli-error.ts";
import { explainImageError } from "../store/explain-image-error.ts";
import { openImageStore } from "../store/open-store.ts";
import type { Output } from "../terminal/output.ts";
import { imageTable, readableBytes } from "./image-table.ts";

/** Flags of `xfn images`, as commander parsed them. */
export interface ListFlags {
  readonly output: "table" | "json";
  /** Whether the table has bases too. */
  readonly all?: boolean;
  readonly cacheDir?: string;
}

/** Flags of `xfn images rm`. */
export interface RemoveFlags {
  readonly cacheDir?: string;
}

/** Flags of `xfn images prune`. */
export interface PruneFlags {
  /** Milliseconds. */
  readonly olderThan?: number;
  /** Bytes. */
  readonly maxSize?: number;
  readonly built?: boolean;
  readonly dryRun?: boolean;
  readonly cacheDir?: string;
}

/** Bases of images, which `xfn build` makes from files of this machine (@xfn/function-build). */
export const HOST_BASES = "xfn-host-base/";

/** `xfn images`: prints a table, or JSON with one entry for each name. */
export async function listImages(flags: ListFlags, output: Output): Promise<number> {
  const { images, total } = await withExplanation(async () => listed(await openImageStore(flags.cacheDir)));
  const own = images.filter(({ internal }) => !internal);
  if (flags.output === "json") {
    await output.product(`${escapeUnsafe(JSON.stringify(images, undefined, 2))}\n`);
    return ExitCode.ok;
  }
  const shown = flags.all === true ? images : own;
  await output.product(imageTable(shown, output.productColumns));
  const bases = images.length - shown.length;
  const counted = bases === 1 ? "1 base" : `${bases} bases`;
  const hidden = bases === 0 ? "" : `, and ${counted} that xfn build made from files of this machine (--all)`;
  if (images.length > 0) output.note(`${shown.length} images${hidden}; ${readableBytes(total)} in all`);
  return ExitCode.ok;
}

function listed(store: Store): { images: readonly (StoredImage & { internal: boolean })[]; total: number } {
  const images = store.images().map((image) => ({ ...image, internal: image.name.startsWith(HOST_BASES) }));
  // Removes nothing. The sum of all images would count what they share once for each.
  const { bytes, bytesLeft } = store.prune({ dryRun: true, olderThanMs: Infinity });
  return { images, total: bytes + bytesLeft };
}

/** `xfn images rm`: removes images. Prints each name, and how many bytes it freed. */
export async function removeImages(names: readonly string[], flags: RemoveFlags, output: Output): Promise<number> {
  await withExplanation(async () => {
    const store = await openImageStore(flags.cacheDir);
    for (const name of names) {
      const { images, bytes } = remove(store, name);
      await output.product(`${oneLine(images.join(" "), Number.POSITIVE_INFINITY)}\n`);
      output.note(`${oneLine(name, 200)}: ${readableBytes(bytes)} freed`);
    }
  });
  return ExitCode.ok;
}

function remove(store: Store, name: string): ReturnType<Store["remove"]> {
  try {
    return store.remove(name);
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "NotFound";
    if (!isMissing) throw error;
    throw new CliError("Failed", error.message, { details: ["`xfn images` lists the names"], cause: error });
  }
}

/** `xfn images prune`: removes images by age and size. Prints one name a line. */
export async function pruneImages(flags: PruneFlags, output: Output): Promise<number> {
  const { olderThan: olderThanMs, maxSize: maxBytes, built, dryRun = false } = flags;
  const result = await withExplanation(async (): Promise<PruneResult> => {
    const store = await openImageStore(flags.cacheDir);
    return store.prune({ olderThanMs, maxBytes, built, dryRun });
  });
  await output.product(result.images.map((name) => `${oneLine(name, 500)}\n`).join(""));
  for (const name of result.inUse) output.note(`${oneLine(name, 200)} is in use, and was not removed`);
  output.note(`${result.images.length} images, ${readableBytes(result.bytes)} ${dryRun ? "would be freed" : "freed"}`);
  return ExitCode.ok;
}

async function withExplanation<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof CliError ? error : explainImageError(error);
  }
}
