import type { OnProgress, Progress } from "@xfn/oci-rootfs";
import { isLayoutName } from "@xfn/oci-rootfs/image-name";
import { oneLine } from "@xfn/program/terminal-text";
import type { Output } from "./output.ts";

interface Layer {
  readonly bytes: number;
  readonly totalBytes: number;
  readonly state: Progress["state"];
}

// Faster redraws cost time and are not visible.
const FRAME_MS = 80;

/**
 * Shows the progress of images on a terminal: a status line, then one line for each fetched image. Skips images that
 * are in the store. Without a terminal, shows nothing.
 */
export function pullProgress(
  output: Output,
  now: () => number = Date.now,
  verbs: (progress: Progress) => readonly [string, string] = verbsOf,
): OnProgress {
  const images = new Map<string, Map<string, Layer>>();
  let drawn = Number.NEGATIVE_INFINITY;
  return (progress) => {
    const { image, digest, bytes, totalBytes, state } = progress;
    const layers = images.get(image) ?? new Map<string, Layer>();
    images.set(image, layers.set(digest, { bytes, totalBytes, state }));
    const all = [...layers.values()];
    const settled = all.every((layer) => layer.state === "done" || layer.state === "present");
    const fetched = all.filter((layer) => layer.state !== "present");
    if (settled && layers.size >= progress.layers) {
      images.delete(image);
      output.status(undefined);
      if (fetched.length > 0 && output.interactive)
        output.note(`${verbs(progress)[1]} ${oneLine(image, 200)} (${megabytes(sum(fetched, "totalBytes"))})`);
    } else if (fetched.length > 0 && now() - drawn >= FRAME_MS) {
      drawn = now();
      output.status(statusLine(`${verbs(progress)[0]} `, image, fetched, output.columns));
    }
  };
}

function verbsOf({ image, local = false }: Progress): readonly [string, string] {
  return local || isLayoutName(image) ? ["unpacking", "unpacked"] : ["pulling", "pulled"];
}

const BAR = 24;
const NARROW = 80;

function statusLine(verb: string, image: string, layers: readonly Layer[], columns: number): string {
  const bytes = sum(layers, "bytes");
  const total = Math.max(sum(layers, "totalBytes"), 1);
  const filled = Math.min(BAR, Math.floor((bytes / total) * BAR));
  const bar = `${"#".repeat(filled)}${"-".repeat(BAR - filled)}`;
  const part = `${Math.floor((bytes / total) * 100)}% of ${megabytes(total)}`;
  // On a narrow terminal the figures and the name are worth more than the bar.
  const figures = columns < NARROW ? part : `[${bar}] ${part}`;
  const room = Math.max(columns - figures.length - verb.length - 2, 8);
  return `${verb}${oneLine(image, room)} ${figures}`.slice(0, columns - 1);
}

function sum(layers: readonly Layer[], field: "bytes" | "totalBytes"): number {
  return layers.reduce((total, layer) => total + layer[field], 0);
}

function megabytes(bytes: number): string {
  return bytes < 1e5 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
