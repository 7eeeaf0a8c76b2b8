import { MAX_STDERR_BYTES } from "../protocol/limits.ts";

/** The instance ended by itself. A module that catches this runs on until its next call of the host. */
export class ExitError extends Error {
  override readonly name = "ExitError";
  readonly code = "Exit";
  readonly retryable = false;
  readonly exitCode: number;

  constructor(exitCode: number, options?: ErrorOptions) {
    super(`exit ${exitCode}`, options);
    this.exitCode = exitCode;
  }
}

/** The instance wrote more to stdout than it may. */
class OutputTooLargeError extends Error {
  override readonly name = "OutputTooLargeError";
  readonly code = "OutputTooLarge";
  readonly retryable = false;
}

const FIRST_BYTES = 64 * 1024;

/** The standard streams of one instance. */
export class StandardStreams {
  readonly #nextInput: () => Uint8Array;
  readonly #maxOutputBytes: number;
  #input: Uint8Array | undefined;
  #read = 0;
  #output: Buffer = Buffer.alloc(0);
  #written = 0;
  #stderr: Buffer = Buffer.alloc(0);
  #refused = false;

  /** @param nextInput waits for the input; it is called once */
  constructor(nextInput: () => Uint8Array, maxOutputBytes: number) {
    this.#nextInput = nextInput;
    this.#maxOutputBytes = maxOutputBytes;
  }

  /** Whether the module wrote more than it may, even if it caught the error. */
  get isTooLarge(): boolean {
    return this.#refused;
  }

  get output(): Uint8Array {
    return this.#output.subarray(0, this.#written);
  }

  get stderr(): Uint8Array {
    return this.#stderr.subarray(Math.max(0, this.#stderr.length - MAX_STDERR_BYTES));
  }

  /** Waits for the input, unless the module has read it. */
  takeInput(): Uint8Array {
    this.#input ??= this.#nextInput();
    return this.#input;
  }

  /** Copies the next bytes of stdin. Returns their number, 0 at the end. */
  read(target: Uint8Array): number {
    const input = this.takeInput();
    const part = input.subarray(this.#read, this.#read + target.length);
    target.set(part);
    this.#read += part.length;
    return part.length;
  }

  /** Appends to stdout. @throws OutputTooLargeError */
  write(bytes: Uint8Array): void {
    const end = this.#written + bytes.length;
    if (this.#refused || end > this.#maxOutputBytes) {
      this.#refused = true;
      throw new OutputTooLargeError();
    }
    if (end > this.#output.length) {
      const grown = Buffer.allocUnsafe(
        Math.min(Math.max(end, 2 * this.#output.length, FIRST_BYTES), this.#maxOutputBytes),
      );
      grown.set(this.#output.subarray(0, this.#written));
      this.#output = grown;
    }
    this.#output.set(bytes, this.#written);
    this.#written = end;
  }

  /** Appends to stderr, of which only the end is kept. */
  writeError(bytes: Uint8Array): void {
    const kept = bytes.subarray(Math.max(0, bytes.length - MAX_STDERR_BYTES));
    this.#stderr = Buffer.concat([this.stderr, kept]);
  }
}
