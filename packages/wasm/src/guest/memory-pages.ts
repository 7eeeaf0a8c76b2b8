import koffi from "koffi";
import { PAGE_BYTES } from "../protocol/limits.ts";

// <sys/mman.h>
const PROT_NONE = 0;
const PROT_READ_WRITE = 3;
const MADV_DONTNEED = 4;
const MADV_HUGEPAGE = 14;
const MADV_POPULATE_WRITE = 23;

const HUGE_PAGE_BYTES = 2 * 1024 * 1024;

/** The largest part of a memory to prepare. The rest of a larger memory gets its pages on first use. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Prepares the pages of memories: the kernel clears some huge pages at once, instead of handling a page fault for each
 * 4 KiB that an instance touches. Works only on Linux. If the kernel rejects the advice, it provides pages as before.
 */
export class MemoryPages {
  readonly #advise: (address: bigint, length: number, advice: number) => number;
  readonly #protect: (address: bigint, length: number, protection: number) => number;
  readonly #limitBytes: number;
  /** The final size of the last memory. */
  #expectedBytes = 0;
  /** The prepared part of the memory that an instance uses. */
  #prepared: { readonly address: bigint; readonly length: number } | undefined;

  /** @param limitBytes the largest size of one memory; V8 reserves an address range of this size for each memory */
  constructor(limitBytes: number) {
    const libc = koffi.load(null);
    this.#advise = libc.func("int madvise(uintptr_t address, size_t length, int advice)");
    this.#protect = libc.func("int mprotect(uintptr_t address, size_t length, int protection)");
    this.#limitBytes = Math.floor(limitBytes / PAGE_BYTES) * PAGE_BYTES;
  }

  /**
   * Prepares an unused memory, up to the final size of the previous memory.
   *
   * @param maximum the number of pages that it can grow to
   */
  prepare(buffer: ArrayBuffer, maximum?: number): void {
    const initial = buffer.byteLength;
    const expected = Math.min(Math.max(initial, this.#expectedBytes), MAX_BYTES);
    if (initial === 0) return;
    const address = koffi.address(buffer);
    const most = Math.min(this.#limitBytes, (maximum ?? Number.POSITIVE_INFINITY) * PAGE_BYTES);
    const length = lengthOf(address, expected, { initial, most });
    this.#prepared = { address, length };
    // The kernel uses huge pages only for writable pages, so the pages that the memory can grow into are writable
    // briefly.
    const rest = length - initial;
    const restAddress = address + BigInt(initial);
    if (rest === 0 || this.#protect(restAddress, rest, PROT_READ_WRITE) === 0) {
      this.#advise(address, length, MADV_HUGEPAGE);
      this.#advise(address, length, MADV_POPULATE_WRITE);
    }
    if (rest > 0 && this.#protect(restAddress, rest, PROT_NONE) !== 0)
      throw new TypeError("the kernel refused to protect the pages behind the memory again");
  }

  /**
   * Frees the pages of an unused memory, and the prepared pages after it. V8 keeps them until it collects garbage, and
   * does not count the pages after it.
   */
  release(buffer: ArrayBuffer): void {
    const { byteLength } = buffer;
    const prepared = this.#prepared;
    this.#expectedBytes = byteLength;
    this.#prepared = undefined;
    if (byteLength === 0) return;
    const address = koffi.address(buffer);
    const length = prepared?.address === address ? Math.max(byteLength, prepared.length) : byteLength;
    this.#advise(address, length, MADV_DONTNEED);
  }
}

/** The number of bytes to prepare: up to the end of a huge page, if the memory can grow that far. */
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
