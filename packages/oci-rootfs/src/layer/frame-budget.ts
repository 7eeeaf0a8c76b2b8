import { unsafe } from "./entry-path.ts";

/**
 * Frames that a layer may have in any case. Each costs some 30 µs, most of it for a round trip to a thread of libuv's
 * pool. So these take a third of a second.
 */
const FREE_FRAMES = 10_000;
/**
 * Content for each further frame. zstd:chunked, the format with the most frames, has two for a file: one with its tar
 * header of 512 bytes, and one with its content.
 */
const BYTES_PER_FRAME = 256;

/**
 * Bounds the frames of a zstd stream by its content. A megabyte has room for 100,000 empty frames, which cost seconds
 * of processor time, and which no limit of unpacked content notices.
 */
export class FrameBudget {
  #bytes = 0;

  /** Notes content. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Compares the frames so far with the content so far. @throws ImageError UnsafeLayer */
  check(frames: number): void {
    if (frames > FREE_FRAMES + this.#bytes / BYTES_PER_FRAME)
      throw unsafe(`has ${frames} zstd frames for ${this.#bytes} bytes of content; most of them are empty or tiny`);
  }
}
