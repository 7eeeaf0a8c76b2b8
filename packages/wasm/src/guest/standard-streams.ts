import { MAX_STDERR_BYTES } from "../protocol/limits.ts";

/** The instance exited. A module that catches this error continues until its next call of the host. */
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

/** The instance wrote more to stdout than allowed. */
class OutputTooLargeError extends Error {
  override readonly name = "OutputTooLargeError";
  readonly code = "OutputTooLarge";
  readonly retryable = false;
}

const FIRST_BYTES = 64 * 1024;

/** The interval between reports of stderr after the first bytes: a module can write without end. */
const REPORT_MS = 100;

/** The host's side of the standard streams of one instance. */
export interface StreamsHost {
  /** Waits for the input; called once. */
  nextInput(): Uint8Array;
  /** Called with the next part of stderr. If an instance is killed, its unreported part is lost. */
  reportError(part: Uint8Array): void;
}

/** The standard streams of one instance. */
export class StandardStreams {
  readonly #host: StreamsHost;
  readonly #maxOutputBytes: number;
  #input: Uint8Array | undefined;
  #read = 0;
  #output: Buffer = Buffer.alloc(0);
  #written = 0;
  /** The part of stderr that was not reported yet. */
  #stderr: Buffer = Buffer.alloc(0);
  #reportedBytes = 0;
  #nextReport = 0;
  #refused = false;

  constructor(host: StreamsHost, maxOutputBytes: number) {
    this.#host = host;
    this.#maxOutputBytes = maxOutputBytes;
  }

  /** Whether the module wrote more than allowed, even if it caught the error. */
  get isTooLarge(): boolean {
    return this.#refused;
  }

  get output(): Uint8Array {
    return this.#output.subarray(0, this.#written);
  }

  /** Waits for the input, unless the module has read it. */
  takeInput(): Uint8Array {
    this.#input ??= this.#host.nextInput();
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

  /** Appends to stderr. Only the end is kept. */
  writeError(bytes: Uint8Array): void {
    this.#stderr = Buffer.concat([this.#stderr, bytes.subarray(-MAX_STDERR_BYTES)]).subarray(-MAX_STDERR_BYTES);
    const isDue = this.#reportedBytes < MAX_STDERR_BYTES || performance.now() >= this.#nextReport;
    if (isDue) this.reportError();
  }

  reportError(): void {
    if (this.#stderr.length === 0) return;
    this.#host.reportError(this.#stderr);
    this.#reportedBytes += this.#stderr.length;
    this.#nextReport = performance.now() + REPORT_MS;
    this.#stderr = Buffer.alloc(0);
  }
}
