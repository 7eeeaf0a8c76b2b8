/** Memory of a function without a limit of its own, in bytes. Go programs need some 10 MiB. */
export const DEFAULT_MEMORY_BYTES: number = 256 * 1024 * 1024;

/** A 32-bit memory cannot be larger. */
export const MAX_MEMORY_BYTES: number = 4 * 1024 ** 3;

/** The unit of a memory (WebAssembly specification, "Memory Instances"). */
export const PAGE_BYTES: number = 64 * 1024;

/** For a module. Go's compiler makes modules of 2 to 10 MiB, and V8 takes some 10 ms to check each MiB. */
export const MAX_MODULE_BYTES: number = 48 * 1024 * 1024;

/** Entries of one table. A Go program of 10 MiB has some 10,000. V8 takes 8 bytes for each. */
export const MAX_TABLE_ENTRIES = 1_000_000;

/** Tables of one module. Compilers make one. */
export const MAX_TABLES = 8;

/**
 * Heap of the process besides the memory of the instance, for V8's own objects and garbage-collected ones, in MiB.
 * V8 adds the memories of ended instances to the heap, and collects all garbage when the sum is half of this. Go's
 * modules then have 15 calls between two collections; with 64 MiB they had six.
 */
export const HEAP_MEBIBYTES = 128;

/** V8 lets the heap grow by so much before it collects all garbage, up to half of {@link HEAP_MEBIBYTES}. */
export const HEAP_GROWING_PERCENT = 9000;

/**
 * What V8 executes of a function before it optimizes it, in bytes. With its default of 13 million, the functions of a
 * short program stay slow for some hundred calls. With less than two million, the first call takes much more time.
 */
export const BYTES_UNTIL_OPTIMIZED = 2_000_000;

/** Machine code of one module, in MiB. The code of a Go module of 10 MiB takes some 40. */
export const CODE_MEBIBYTES = 256;

/** The end of stderr that a call keeps, in bytes. */
export const MAX_STDERR_BYTES: number = 16 * 1024;
