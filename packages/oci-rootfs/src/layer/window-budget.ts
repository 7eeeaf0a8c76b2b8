import { totalmem } from "node:os";
import process from "node:process";
import { ImageError } from "../base/errors.ts";
import type { FramePart } from "./zstd-frames.ts";

/** The largest window that zstd accepts by default, that of `zstd --long=27`. Such windows are not counted. */
const USUAL_WINDOW_BYTES = 128 * 1024 ** 2;
/** Content between two looks at the memory of the process. */
const LOOK_BYTES = 16 * 1024 ** 2;

export interface WindowBudgetOptions {
  /** The resident bytes of this process up to which a large window may grow. Default: half of the available memory. */
  readonly maxResidentBytes?: number | undefined;
}

/**
 * Bounds the memory of zstd windows. A frame may declare a window of 2 GiB. libzstd reserves it at once, but the kernel
 * provides its pages only as content fills them. So a large window of a small frame is harmless. A large frame may
 * continue while the whole process, with its other threads, has memory left.
 */
export class WindowBudget {
  readonly #maxResidentBytes: number;
  #frame = 0;
  #windowBytes = 0;
  /** Content of the current frame. */
  #bytes = 0;
  #nextLook = USUAL_WINDOW_BYTES;

  constructor({ maxResidentBytes = availableBytes() / 2 }: WindowBudgetOptions = {}) {
    this.#maxResidentBytes = maxResidentBytes;
  }

  /** Notes the frame whose content comes next. */
  enter({ frame, windowBytes }: FramePart): void {
    this.#windowBytes = windowBytes;
    if (frame === this.#frame) return;
    this.#frame = frame;
    this.#bytes = 0;
    this.#nextLook = USUAL_WINDOW_BYTES;
  }

  /** Notes content. @throws ImageError TooLarge */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#windowBytes <= USUAL_WINDOW_BYTES || this.#bytes < this.#nextLook) return;
    this.#nextLook = this.#bytes + LOOK_BYTES;
    const resident = process.memoryUsage.rss();
    if (resident <= this.#maxResidentBytes) return;
    throw new ImageError(
      "TooLarge",
      `a zstd window of ${this.#windowBytes} bytes needs more memory than this process may use for it (${Math.floor(this.#maxResidentBytes)} bytes); raise its memory limit, or compress the layer without --long`,
    );
  }
}

function availableBytes(): number {
  const constrained = process.constrainedMemory();
  // Zero and values beyond the machine's memory mean that there is no limit.
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
