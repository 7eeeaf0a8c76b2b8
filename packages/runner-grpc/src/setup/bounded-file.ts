import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/**
 * Reads a small regular file that another process can replace at any time.
 *
 * @throws an error of node:fs, or an error that says why the file is rejected
 */
export function readBoundedFile(path: string, maxBytes: number): Buffer {
  // Without O_NONBLOCK opening a pipe would wait for its writer. Pipes are rejected below.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile()) throw new Error(`${path} is not a regular file`);
    const buffer = Buffer.alloc(maxBytes + 1);
    let length = 0;
    for (;;) {
      const read = readSync(fd, buffer, length, buffer.length - length, null);
      if (read === 0) return buffer.subarray(0, length);
      length += read;
      if (length > maxBytes) throw new Error(`${path} has more than ${maxBytes} bytes`);
    }
  } finally {
    closeSync(fd);
  }
}
