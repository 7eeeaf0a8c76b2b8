import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { closed, closeWhenQuiet, type Stdio, Tail } from "./container-io.ts";
import { STDERR_TAIL_BYTES } from "./limits.ts";

/**
 * Reads what a server writes to stdout and stderr, and keeps the end of it. A server's answers do not go through its
 * pipes, so both are its log.
 */
export class ServerOutput {
  readonly #sockets: readonly Socket[];
  readonly #tail = new Tail(STDERR_TAIL_BYTES);
  readonly #closed: Promise<unknown>;

  /** Closes the server's stdin, and the other descriptors in the end. */
  constructor({ stdin, stdout, stderr }: Stdio) {
    closeSync(stdin);
    this.#sockets = [stdout, stderr].map((fd) => new Socket({ fd, readable: true, writable: false }));
    this.#closed = Promise.all(this.#sockets.map(closed));
    for (const socket of this.#sockets) {
      socket.on("data", (chunk: Buffer) => this.#tail.push(chunk));
      // An idle server does not keep this program alive.
      socket.unref();
    }
  }

  /** Bytes so far. */
  get size(): number {
    return this.#tail.size;
  }

  /** The end of the output after its first `since` bytes, at most `STDERR_TAIL_BYTES`. */
  text(since = 0): string {
    return this.#tail.text(since);
  }

  /** Reads what is left after the server has ended, and closes the pipes. */
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

/** A process elsewhere that has got the pipes may write for ever. */
const MAX_DRAIN_MS = 1_000;
