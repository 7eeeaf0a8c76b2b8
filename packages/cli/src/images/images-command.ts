import { escapeUnsafe } from "@xfn/json/text";
import type { PruneResult, Store, StoredImage } from "@xfn/oci-rootfs";
import { ExitCode } from "@xfn/program/exit-code";
import { oneLine } from "@xfn/program/terminal-text";
import { CliError } from "../errors/cli-error.ts";
import { explainImageError } from "../store/explain-image-error.ts";
import { openImageStore } from "../store/open-store.ts";
import type { Output } from "../terminal/output.ts";

/** Flags of `xfn images`, as commander parsed them. */
export interface ListFlags {
  readonly output: "table" | "json";
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

/** `xfn images`: prints a table, or JSON with one entry for each name. */
export async function listImages(flags: ListFlags, output: Output): Promise<number> {
  const { output: format } = flags;
  const images = await withExplanation(async () => (await openImageStore(flags.cacheDir)).images());
  await output.product(format === "json" ? `${escapeUnsafe(JSON.stringify(images, undefined, 2))}\n` : table(images));
  if (format === "table" && images.length > 0) output.note(`${images.length} images`);
  return ExitCode.ok;
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

function table(images: readonly StoredImage[]): string {
  const rows = images.map(({ name, digest, platforms, bytes, lastUsed, inUse }) => [
    oneLine(name === digest ? "<none>" : name, 200),
    digest.slice(digest.indexOf(":") + 1).slice(0, 12),
    oneLine(platforms.join(","), 60) || "-",
    readableBytes(bytes),
    inUse ? "now" : ago(Date.now() - lastUsed.getTime()),
  ]);
  const all = [["NAME", "DIGEST", "PLATFORM", "SIZE", "USED"], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

/** Formats bytes with three digits, such as `92 MiB`. */
export function readableBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const unit = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** unit;
  return `${unit === 0 || value >= 100 ? Math.round(value) : Number(value.toPrecision(3))} ${units[unit]}`;
}

const STEPS = [
  ["day", 24 * 60 * 60 * 1000],
  ["hour", 60 * 60 * 1000],
  ["minute", 60 * 1000],
] as const;

function ago(ms: number): string {
  const [unit, step] = STEPS.find(([, length]) => ms >= length) ?? STEPS[2];
  const count = Math.floor(ms / step);
  if (count < 1) return "just now";
  return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
}
