/**
 * How much of the end of stderr is kept for messages. The rest is read and dropped, so that a chatty function never
 * blocks.
 */
export const STDERR_TAIL_BYTES: number = 16 * 1024;

/** What a function may write to its own root filesystem. It lives in memory, so the bound protects the machine. */
export const WRITABLE_BYTES: number = 256 * 1024 * 1024;

/** What a function may write to /tmp if its root filesystem is read-only. It lives in memory too. */
export const READ_ONLY_TMP_BYTES: number = 64 * 1024 * 1024;

/** Open files that one process of a function may have. */
export const MAX_OPEN_FILES = 4096;
