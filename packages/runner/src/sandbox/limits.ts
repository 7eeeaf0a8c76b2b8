/**
 * Bytes at the end of stderr that are kept for messages. Earlier output is read and dropped, so that a chatty function
 * never blocks.
 */
export const STDERR_TAIL_BYTES: number = 16 * 1024;

/**
 * The largest size of files written to a function's root filesystem. They use memory, so the limit protects the
 * machine.
 */
export const WRITABLE_BYTES: number = 256 * 1024 * 1024;

/** The largest size of files in /tmp if the root filesystem is read-only. They use memory too. */
export const READ_ONLY_TMP_BYTES: number = 64 * 1024 * 1024;

/** The largest number of open files of one process in a function. */
export const MAX_OPEN_FILES = 4096;
