import type { StoredImage } from "@xfn/oci-rootfs";
import { oneLine } from "@xfn/program/terminal-text";

const HEAD = ["NAME", "DIGEST", "PLATFORM", "SIZE", "USED"] as const;
/** The columns that a narrow terminal leaves out, in this order. */
const DISPENSABLE = ["PLATFORM", "DIGEST", "USED"] as const;
const GAP = "  ";

/**
 * A line for each image. A terminal that is too narrow gets fewer columns: commands take whole names.
 *
 * @param width - columns of the terminal; undefined for a file or another program, which gets all columns
 */
export function imageTable(images: readonly StoredImage[], width: number | undefined): string {
  const rows = images.map(({ name, digest, platforms, bytes, lastUsed, inUse }) => ({
    NAME: oneLine(name === digest ? "<none>" : name, 200),
    DIGEST: digest.slice(digest.indexOf(":") + 1).slice(0, 12),
    PLATFORM: oneLine(platforms.join(","), 60) || "-",
    SIZE: readableBytes(bytes),
    USED: inUse ? "now" : ago(Date.now() - lastUsed.getTime()),
  }));
  const columns = HEAD.map((head) => {
    const cells = [head, ...rows.map((row) => row[head])];
    return { head, cells, width: Math.max(...cells.map(({ length }) => length)) };
  });
  let shown = columns;
  for (const head of DISPENSABLE)
    if (lineWidth(shown) > (width ?? Infinity)) shown = shown.filter((column) => column.head !== head);
  return Array.from({ length: rows.length + 1 }, (_, row) => {
    const cells = shown.map((column) => (column.cells[row] ?? "").padEnd(column.width));
    return `${cells.join(GAP).trimEnd()}\n`;
  }).join("");
}

function lineWidth(columns: readonly { readonly width: number }[]): number {
  return columns.reduce((sum, { width }) => sum + width + GAP.length, -GAP.length);
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
