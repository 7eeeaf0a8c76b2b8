import { closeSync, constants, openSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { DEFAULT_OUTPUT_BYTES, type RunOptions } from "@xfn/runner-contract";
import { STDERR_TAIL_BYTES } from "./limits.ts";
import { OutputBuffer } from "./output-buffer.ts";

export interface ContainerOutput {
  stdout: Buffer;
  /** The end of stderr, at most `STDERR_TAIL_BYTES`. */
  stderr: string;
}

/** A container's open pipes. */
export interface ContainerIo {
  /** Whether no process had stdin open, so that none could read the input. */
  inputRefused: boolean;
  /** Settles when both outputs have ended. */
  output: Promise<ContainerOutput>;
  /**
   * Reads the remaining output after the container has ended, then closes the pipes, even if another process keeps them
   * open: a function can pass its descriptors through a socket.
   *
   * @param isOver whether to stop, although a process still writes
   */
  drain(isOver: () => boolean): Promise<ContainerOutput>;
  /** Closes the pipes at once; `output` then settles with the output that was read so far. */
  abandon(): void;
}

/** The runner's ends of a container's pipes, as descriptors. */
export interface Stdio {
  stdin: number;
  stdout: number;
  stderr: number;
}

/** Opens the runner's ends by their paths. The caller must close them, or pass them to {@link openContainerIo}. */
export function openStdio(paths: { stdin: string; stdout: string; stderr: string }): Stdio {
  const opened: number[] = [];
  // Non-blocking: open(2) must not block on a pipe whose other end is already closed.
  const open = (path: string, mode: number): number => {
    const fd = openSync(path, mode | constants.O_NONBLOCK);
    opened.push(fd);
    return fd;
  };
  try {
    return {
      stdin: open(paths.stdin, constants.O_WRONLY),
      stdout: open(paths.stdout, constants.O_RDONLY),
      stderr: open(paths.stderr, constants.O_RDONLY),
    };
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    throw error;
  }
}

export function closeStdio({ stdin, stdout, stderr }: Stdio): void {
  for (const fd of [stdin, stdout, stderr]) closeSync(fd);
}

/** Options of {@link openContainerIo}. */
export interface OutputOptions extends Pick<RunOptions, "outputMemory"> {
  /** The largest stdout. */
  maxOutputBytes?: number | undefined;
}

/** After this time the pipes of an ended container are closed, unless another process has them. */
const CLOSED_MS = 20;

/**
 * Writes the input of a container and reads both outputs at the same time. A function that floods one output, or does
 * not read its input, does not block the others. Closes the descriptors at the end.
 *
 * @param onTooLarge called once when stdout exceeds `maxOutputBytes`; reading then stops
 */
export function openContainerIo(
  stdio: Stdio,
  input: Uint8Array,
  onTooLarge: () => void,
  { maxOutputBytes = DEFAULT_OUTPUT_BYTES, outputMemory }: OutputOptions = {},
): ContainerIo {
  // Write the input first, so that a waiting function can continue.
  const { stdin, refused } = writeInput(stdio.stdin, input);
  const answer = new OutputBuffer(maxOutputBytes, outputMemory);
  let tooLarge = false;
  const stdout = new Socket({
    fd: stdio.stdout,
    readable: true,
    writable: false,
    onread: {
      buffer: () => answer.space(),
      callback: (bytes: number): boolean => {
        if (tooLarge) return false;
        answer.add(bytes);
        if (answer.size <= maxOutputBytes) return true;
        tooLarge = true;
        answer.clear();
        stdout.destroy();
        onTooLarge();
        return false;
      },
    },
  });
  stdout.resume();
  const stderr = new Socket({ fd: stdio.stderr, readable: true, writable: false });
  const tail = new Tail(STDERR_TAIL_BYTES);
  stderr.on("data", (chunk: Buffer) => tail.push(chunk));

  const output = Promise.all([closed(stdout), closed(stderr)]).then(() => {
    // A function can end before it has read its input.
    stdin?.destroy();
    return { stdout: answer.bytes(), stderr: tail.text() };
  });
  const abandon = (): void => {
    for (const socket of [stdin, stdout, stderr]) socket?.destroy();
  };
  return {
    inputRefused: refused,
    output,
    abandon,
    drain: async (isOver) => {
      const stopWatching = closeWhenQuiet(() => stdout.bytesRead + stderr.bytesRead, isOver, abandon);
      try {
        return await output;
      } finally {
        stopWatching();
      }
    },
  };
}

/**
 * Closes pipes once a poll of the event loop reads no bytes from them, or when `isOver` returns true. All output of the
 * container was in the pipes when it ended, so no output is lost.
 *
 * @returns a function that cancels the check
 */
export function closeWhenQuiet(bytesRead: () => number, isOver: () => boolean, close: () => void): () => void {
  const check = (): void => {
    const before = bytesRead();
    // The event loop polls between two rounds of immediates.
    setImmediate(() =>
      setImmediate(() => {
        if (isOver() || bytesRead() === before) close();
        else timer = setTimeout(check, CLOSED_MS);
      }),
    );
  };
  let timer = setTimeout(check, CLOSED_MS);
  return () => clearTimeout(timer);
}

/** The minimum capacity of a pipe: a write of this size to an empty pipe does not block (pipe(7)). */
const PIPE_BYTES = 64 * 1024;

/** The result of {@link writeInput}. */
interface WrittenInput {
  /** Writes the rest as the function reads; undefined if the whole input was written. */
  stdin?: Socket;
  /** See {@link ContainerIo.inputRefused}. */
  refused: boolean;
}

/** Writes the input and closes the pipe: at once if the input fits, otherwise as the function reads it. */
function writeInput(fd: number, input: Uint8Array): WrittenInput {
  let written = 0;
  let refused = false;
  if (input.length <= PIPE_BYTES) {
    try {
      written = input.length === 0 ? 0 : writeSync(fd, input);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : "";
      // EPIPE: the function closed stdin, which is allowed. EAGAIN: the kernel gives small pipes to a user with too
      // many.
      if (code !== "EPIPE" && code !== "EAGAIN") throw error;
      refused = code === "EPIPE";
    }
    if (refused || written === input.length) {
      closeSync(fd);
      return { refused };
    }
  }
  const stdin = new Socket({ fd, readable: false, writable: true });
  stdin.on("error", () => undefined);
  stdin.end(input.subarray(written));
  return { stdin, refused };
}

export function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
  });
}

/** Keeps the last bytes of a stream. */
export class Tail {
  readonly #limit: number;
  #kept: Buffer = Buffer.alloc(0);
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Number of bytes so far, including those that were dropped. */
  get size(): number {
    return this.#size;
  }

  push(chunk: Buffer): void {
    const all = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    this.#size += chunk.length;
    this.#kept = all.length > this.#limit ? Buffer.from(all.subarray(all.length - this.#limit)) : all;
  }

  /** The end of the output after its first `since` bytes. */
  text(since = 0): string {
    const wanted = this.#size - since;
    const kept = this.#kept.subarray(Math.max(this.#kept.length - wanted, 0));
    return (kept.length < wanted ? "[...] " : "") + kept.toString("utf8");
  }
}
