import type { FunctionCaller, FunctionRun } from "@xfn/function-grpc";
import type { FunctionRunner } from "@xfn/runner-contract";
import type { FunctionConnector, WebhookCaller } from "../steps/pipeline-input.ts";
import { makeRecording, type RecordedRun } from "./make-recording.ts";
import type { RawCall, RawStep } from "./raw-call.ts";
import type { Recording, StepType } from "./recording.ts";
import { RecordingError } from "./recording-error.ts";

/** The callers of a run's functions, one for each kind of call. */
export interface Callers {
  readonly runner: FunctionRunner;
  readonly webhooks?: WebhookCaller;
  readonly functions?: FunctionConnector;
}

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
    const { runner, webhooks, functions } = callers;
    return {
      ...callers,
      runner: this.#runner(runner),
      ...(webhooks && { webhooks: this.#webhooks(webhooks) }),
      ...(functions && { functions: this.#functions(functions) }),
    };
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

  #runner(runner: FunctionRunner): FunctionRunner {
    return {
      maxOutputBytes: runner.maxOutputBytes,
      run: async (image, input, options = {}) =>
        await this.#bytesCall(options.step ?? image, input, () => runner.run(image, input, options)),
    };
  }

  #webhooks(webhooks: WebhookCaller): WebhookCaller {
    return {
      maxOutputBytes: webhooks.maxOutputBytes,
      call: async (url, input, options) => {
        if (options.token !== undefined) this.#tokens.add(options.token);
        return await this.#bytesCall(options.step, input, () => webhooks.call(url, input, options));
      },
    };
  }

  #functions(functions: FunctionConnector): FunctionConnector {
    return {
      connect: async (step) => {
        const caller = await functions.connect(step);
        const run: FunctionCaller["run"] = async (request, options) => {
          const call = this.#begin(step.name, "Package", request);
          return await this.#end(call, caller.run(request, options), ({ requestBytes, responseBytes }) =>
            this.#count(requestBytes + responseBytes),
          );
        };
        return { version: caller.version, run };
      },
    };
  }

  /** Copies bytes, because their owner can hand them to a worker. */
  async #bytesCall(step: string, input: Uint8Array, run: () => Promise<Uint8Array>): Promise<Uint8Array> {
    this.#count(input.length);
    const call = this.#begin(step, "Function", this.#isFull ? new Uint8Array() : input.slice());
    const output = await this.#end(call, run(), ({ length }) => this.#count(length));
    call.output = this.#isFull ? new Uint8Array() : output.slice();
    return output;
  }

  async #end<T extends Uint8Array | FunctionRun>(
    call: RawCall,
    running: Promise<T>,
    count: (output: T) => void,
  ): Promise<T> {
    try {
      const output = await running;
      count(output);
      call.output = output;
      return output;
    } catch (error) {
      call.error = error;
      throw error;
    }
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
