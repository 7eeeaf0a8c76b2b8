import { makeRecording, type RecordedRun } from "./make-recording.ts";
import type { RawCall, RawStep } from "./raw-call.ts";
import type { Recording, StepType } from "./recording.ts";
import { RecordingError } from "./recording-error.ts";
import { type CallEnd, type Callers, tapped } from "./tapped-callers.ts";

/** Enough for any run that a person can read. Everything is in memory until the run ends. */
const DEFAULT_MAX_BYTES = 256 * 1024 * 1024;

/**
 * Records the inputs and outputs of the functions of one run. Masks secrets at the end, because a later step can show
 * that a value is a secret.
 */
export class RunRecorder {
  readonly #steps: Map<string, RawStep> = new Map();
  /** The tokens of webhooks, which their inputs do not contain. */
  readonly #tokens: Set<string> = new Set();
  readonly #maxBytes: number;
  #bytes = 0;

  /** @param maxBytes bound of the inputs and outputs in memory. Default 256 MiB */
  constructor(maxBytes: number = DEFAULT_MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Wraps callers, to record their calls. */
  callers<T extends Callers>(callers: T): T {
    return tapped(callers, {
      began: (step, type, input) => this.#began(step, type, input),
      sentToken: (token) => this.#tokens.add(token),
    });
  }

  /**
   * Ends the recording, also if the run failed.
   *
   * @throws {RecordingError} `TooLarge`
   */
  finish(run: RecordedRun): Recording {
    if (this.#bytes > this.#maxBytes) {
      throw new RecordingError(
        "TooLarge",
        `the functions exchanged more than ${this.#maxBytes} bytes, which a recording cannot hold; record a smaller run`,
      );
    }
    return makeRecording([...this.#steps.values()], run, this.#tokens);
  }

  #began(step: string, type: StepType, input: RawCall["input"]): CallEnd {
    if (input instanceof Uint8Array) this.#count(input.length);
    const call = this.#begin(step, type, this.#kept(input));
    return {
      returned: (output) => {
        this.#count(output instanceof Uint8Array ? output.length : output.requestBytes + output.responseBytes);
        call.output = this.#kept(output);
      },
      failed: (error) => {
        call.error = error;
      },
    };
  }

  /** Copies bytes, because their owner can hand them to a worker. */
  #kept<T>(value: T | Uint8Array): T | Uint8Array {
    if (!(value instanceof Uint8Array)) return value;
    return this.#isFull ? new Uint8Array() : value.slice();
  }

  #begin(name: string, type: StepType, input: RawCall["input"]): RawCall {
    const step = this.#steps.get(name) ?? { name, type, calls: [] };
    this.#steps.set(name, step);
    // A call after a failed one is another attempt. A replay needs one outcome.
    if (step.calls.at(-1)?.error !== undefined) step.calls.pop();
    const call: RawCall = { input };
    step.calls.push(call);
    return call;
  }

  get #isFull(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#isFull) for (const { calls } of this.#steps.values()) calls.length = 0;
  }
}
