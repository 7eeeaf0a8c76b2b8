import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { closed, closeWhenQuiet, type Stdio, Tail } from "./container-io.ts";
import { STDERR_TAIL_BYTES } from "./limits.ts";

/**
 * Reads a server's stdout and stderr, and keeps the end of both together. A server does not send answers through its
 * pipes, so both are its log.
 */
export class ServerOutput {
  readonly #sockets: readonly Socket[];
  readonly #tail = new Tail(STDERR_TAIL_BYTES);
  readonly #closed: Promise<unknown>;

  /** Closes the server's stdin at once, and the other descriptors at the end. */
  constructor({ stdin, stdout, stderr }: Stdio) {
    closeSync(stdin);
    this.#sockets = [stdout, stderr].map((fd) => new Socket({ fd, readable: true, writable: false }));
    this.#closed = Promise.all(this.#sockets.map(closed));
    for (const socket of this.#sockets) {
      socket.on("data", (chunk: Buffer) => this.#tail.push(chunk));
      // An idle server must not keep this program running.
      socket.unref();
    }
  }

  /** Number of bytes so far. */
  get size(): number {
    return this.#tail.size;
  }

  /** The end of the output after its first `since` bytes, at most `STDERR_TAIL_BYTES`. */
  text(since = 0): string {
    return this.#tail.text(since);
  }

  /** Reads the remaining output after the server has ended, and closes the pipes. */
  async drain(): Promise<void> {
    const bytesRead = (): number => this.#sockets.reduce((sum, socket) => sum + socket.bytesRead, 0);
    const close = (): void => {
      for (const socket of this.#sockets) socket.destroy();
    };
    const began = performance.now();
    const stopWatching = closeWhenQuiet(bytesRead, () => performance.now() - began > MAX_DRAIN_MS, close);
    await this.#closed;
    stopWatching();
  }
}

/** Another process that received the pipes can write without end. */
const MAX_DRAIN_MS = 1_000;
