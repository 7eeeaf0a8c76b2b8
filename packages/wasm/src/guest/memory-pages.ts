import koffi from "koffi";
import { PAGE_BYTES } from "../protocol/limits.ts";

// <sys/mman.h>
const PROT_NONE = 0;
const PROT_READ_WRITE = 3;
const MADV_DONTNEED = 4;
const MADV_HUGEPAGE = 14;
const MADV_POPULATE_WRITE = 23;

const HUGE_PAGE_BYTES = 2 * 1024 * 1024;

/** What is prepared at most. The rest of a larger memory gets its pages as it is used. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Prepares the pages of memories: the kernel clears some huge pages at once, instead of answering a page fault for
 * each 4 KiB that an instance touches. Only Linux can do it. A kernel that refuses the advice gives pages as before.
 */
export class MemoryPages {
  readonly #advise: (address: bigint, length: number, advice: number) => number;
  readonly #protect: (address: bigint, length: number, protection: number) => number;
  readonly #limitBytes: number;
  /** The size of the last memory at its end. */
  #expectedBytes = 0;

  /** @param limitBytes what one memory can have; V8 reserves so many addresses for each */
  constructor(limitBytes: number) {
    const libc = koffi.load(null);
    this.#advise = libc.func("int madvise(uintptr_t address, size_t length, int advice)");
    this.#protect = libc.func("int mprotect(uintptr_t address, size_t length, int protection)");
    this.#limitBytes = limitBytes;
  }

  /**
   * Prepares a memory that no instance has used, up to the size that the last one grew to.
   *
   * @param maximum the pages that it can grow to
   */
  prepare(buffer: ArrayBuffer, maximum?: number): void {
    const initial = buffer.byteLength;
    const expected = Math.min(Math.max(initial, this.#expectedBytes), MAX_BYTES);
    if (initial === 0) return;
    const address = koffi.address(buffer);
    const most = Math.min(this.#limitBytes, (maximum ?? Number.POSITIVE_INFINITY) * PAGE_BYTES);
    const length = lengthOf(address, expected, { initial, most });
    // Only pages that can be written become huge: those that the memory can grow into are so for a moment.
    const rest = length - initial;
    const restAddress = address + BigInt(initial);
    if (rest === 0 || this.#protect(restAddress, rest, PROT_READ_WRITE) === 0) {
      this.#advise(address, length, MADV_HUGEPAGE);
      this.#advise(address, length, MADV_POPULATE_WRITE);
    }
    if (rest > 0 && this.#protect(restAddress, rest, PROT_NONE) !== 0)
      throw new TypeError("the kernel does not protect the pages behind the memory again");
  }

  /** Frees the pages of a memory that no instance uses any more: V8 keeps them until it collects garbage. */
  release(buffer: ArrayBuffer): void {
    this.#expectedBytes = buffer.byteLength;
    if (buffer.byteLength > 0) this.#advise(koffi.address(buffer), buffer.byteLength, MADV_DONTNEED);
  }
}

/** What to prepare: up to the end of a huge page, if the memory can grow so far. */
function lengthOf(
  address: bigint,
  expected: number,
  { initial, most }: { readonly initial: number; readonly most: number },
): number {
  const huge = BigInt(HUGE_PAGE_BYTES);
  const end = ((address + BigInt(expected) + huge - 1n) / huge) * huge;
  const length = Number(end - address);
  return length >= initial && length <= most ? length : initial;
}
