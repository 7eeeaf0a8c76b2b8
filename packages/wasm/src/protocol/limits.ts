/** Default memory limit of a function, in bytes. Go programs need some 10 MiB. */
export const DEFAULT_MEMORY_BYTES: number = 256 * 1024 * 1024;

/** The limit of a 32-bit memory. */
export const MAX_MEMORY_BYTES: number = 4 * 1024 ** 3;

/** The unit of a memory (WebAssembly specification, "Memory Instances"). */
export const PAGE_BYTES: number = 64 * 1024;

/** The largest module. Go's compiler makes modules of 2 to 10 MiB, and V8 takes some 10 ms to check each MiB. */
export const MAX_MODULE_BYTES: number = 48 * 1024 * 1024;

/** The largest number of entries in one table. A Go program of 10 MiB has some 10,000. V8 takes 8 bytes for each. */
export const MAX_TABLE_ENTRIES = 1_000_000;

/** The largest number of tables in one module. Compilers generate one. */
export const MAX_TABLES = 8;

/**
 * Heap of the process, for V8's own and garbage-collected objects, in MiB. The memory of the instance is not included.
 * V8 adds the memories of ended instances to the heap, and collects all garbage when the sum is half of this. Go's
 * modules then run 15 calls between two collections; with 64 MiB they ran six.
 */
export const HEAP_MEBIBYTES = 128;

/** The growth of the heap before V8 collects all garbage, up to half of {@link HEAP_MEBIBYTES}. */
export const HEAP_GROWING_PERCENT = 9000;

/**
 * Bytes of a function that V8 executes before it optimizes the function. With V8's default of 13 million, the functions
 * of a short program stay slow for some hundred calls. With less than two million, the first call takes much more time.
 */
export const BYTES_UNTIL_OPTIMIZED = 2_000_000;

/** Limit of the machine code of one module, in MiB. The code of a Go module of 10 MiB takes some 40 MiB. */
export const CODE_MEBIBYTES = 256;

/** The end of stderr that a call keeps, in bytes. */
export const MAX_STDERR_BYTES: number = 16 * 1024;
