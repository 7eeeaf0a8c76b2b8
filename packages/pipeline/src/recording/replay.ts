import { type Composition, stepsOf, traitsOf } from "@xfn/composition";
import { someOf } from "@xfn/errors";
import { isObject, type JsonObject, MAX_TEXT_BYTES, textsAt, valueAt } from "@xfn/json";
import { parseTrustedJson } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import type { PipelineInput, SecretReference } from "../steps/pipeline-input.ts";
import { compareDocuments } from "./compare-documents.ts";
import { requestDocument } from "./package-document.ts";
import { plainObject } from "./plain-document.ts";
import { readRun } from "./read-package-document.ts";
import type { RecordedStep, Recording, StepType } from "./recording.ts";
import { RecordingError, type RecordingErrorCode } from "./recording-error.ts";
import { SecretBindings } from "./secret-bindings.ts";

/** Options of {@link Replay}. */
export interface ReplayOptions {
  /** Names of fields, connection details and keys of Secrets whose values messages may show. Default: none. */
  readonly publicNames?: readonly string[] | undefined;
  /** Called for a step whose input differs from the recorded one. Without it, the run ends with `InputDiffers`. */
  readonly onDifference?: ((error: RecordingError) => void) | undefined;
}

/** The functions of a replay. */
export type ReplayedCallers = Required<Pick<PipelineInput, "runner" | "webhooks" | "functions" | "credentials">>;

const MAX_NAMED = 10;

/** Runs a Composition with the recorded outputs of its functions. Calls nothing outside of this process. */
export class Replay {
  readonly #steps: ReadonlyMap<string, RecordedStep>;
  readonly #options: ReplayOptions;
  readonly #bindings: SecretBindings = new SecretBindings();
  /** The number of calls so far, by step. */
  readonly #calls: Map<string, number> = new Map();
  /** The first problem. The error of the run names its step only, without values. */
  #problem: RecordingError | undefined;

  constructor(recording: Recording, options: ReplayOptions = {}) {
    this.#steps = new Map(recording.steps.map((step) => [step.name, step]));
    this.#options = options;
  }

  /**
   * The functions of a run.
   *
   * @param given finds the Secrets of steps. A Secret that it does not find has the recorded masks as its values
   */
  callers(composition: Composition, given?: PipelineInput["credentials"]): ReplayedCallers {
    const call = (step: string, input: Uint8Array): Promise<Uint8Array> =>
      this.#attempt(() => this.#bytesCall(step, input));
    return {
      runner: {
        maxOutputBytes: MAX_TEXT_BYTES,
        run: async (image, input, { step = image } = {}) => await call(step, input),
      },
      webhooks: { maxOutputBytes: MAX_TEXT_BYTES, call: async (_, input, { step }) => await call(step, input) },
      functions: {
        connect: async ({ name }) => {
          await this.#attempt(() => this.#stepOf(name, "Package"));
          return {
            run: (request) => this.#attempt(() => readRun(this.#call(name, "Package", requestDocument(request)), name)),
          };
        },
      },
      credentials: async (secret) => (await given?.(secret)) ?? this.#recordedSecret(composition, secret),
    };
  }

  /**
   * Runs something that uses the callers.
   *
   * @throws {RecordingError} the first problem of the replay, also for a recorded step that did not run
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    let result: T;
    try {
      result = await work();
    } catch (error) {
      throw this.#problem ?? error;
    }
    for (const { name, calls } of this.#steps.values()) {
      const made = this.#calls.get(name) ?? 0;
      if (made >= calls.length) continue;
      const title = `the recording has the step ${JSON.stringify(name)}`;
      const problem = made === 0 ? "which did not run" : `with ${calls.length} calls, and it made ${made}`;
      throw new RecordingError("StepMismatch", `${title}, ${problem}; record the run again`, { step: name });
    }
    return result;
  }

  /** Remembers the first problem, and throws one without values in its place: loggers print the errors of runs. */
  #attempt<T>(work: () => T): Promise<T> {
    try {
      return Promise.resolve(work());
    } catch (error) {
      if (error instanceof RecordingError) {
        this.#problem ??= error;
        return Promise.reject(
          new RecordingError(error.code, SUMMARIES[error.code] ?? error.message, { step: error.step }),
        );
      }
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #bytesCall(step: string, input: Uint8Array): Uint8Array {
    const document = parseTrustedJson(input);
    const output = this.#call(step, "Function", isObject(document) ? plainObject(document) : {});
    return new TextEncoder().encode(printJson(output));
  }

  #call(name: string, type: StepType, input: JsonObject): JsonObject {
    const step = this.#stepOf(name, type);
    const index = this.#calls.get(name) ?? 0;
    this.#calls.set(name, index + 1);
    const call = step.calls[index];
    if (call === undefined) {
      const message = `${titleOf(name)} makes more calls than the ${step.calls.length} recorded ones; record the run again`;
      throw new RecordingError("StepMismatch", message, { step: name });
    }
    const differences = compareDocuments(call.input, input, this.#bindings, this.#options.publicNames);
    if (differences.length > 0) this.#report(name, differences);
    if (call.output !== undefined) {
      const output = this.#bindings.restore(call.output);
      return isObject(output) ? output : {};
    }
    const { code, message } = call.error ?? { code: "Internal", message: "it has no output" };
    throw new RecordingError("RecordedFailure", `${titleOf(name)} failed when it was recorded (${code}): ${message}`, {
      step: name,
    });
  }

  #report(step: string, differences: readonly string[]): void {
    const message = `${titleOf(step)} gets another input than the recorded one:\n  ${differences.join("\n  ")}`;
    const error = new RecordingError("InputDiffers", message, { step, differences });
    if (this.#options.onDifference === undefined) throw error;
    this.#options.onDifference(error);
  }

  #stepOf(name: string, type: StepType): RecordedStep {
    const step = this.#steps.get(name);
    if (step === undefined) {
      const names = [...this.#steps.keys()].map((one) => JSON.stringify(one));
      const known = names.length === 0 ? "none" : someOf(names, MAX_NAMED);
      const message = `${titleOf(name)} was not recorded (recorded steps: ${known}); record the run again`;
      throw new RecordingError("StepMismatch", message, { step: name });
    }
    if (step.type === type) return step;
    const message = `${titleOf(name)} was recorded as ${KINDS[step.type]}, which it is no longer; record the run again`;
    throw new RecordingError("StepMismatch", message, { step: name });
  }

  /** A Secret that the replay does not have: the masks compare as equal to the recorded input. */
  #recordedSecret(composition: Composition, secret: SecretReference): ReadonlyMap<string, Uint8Array> | undefined {
    for (const step of stepsOf(composition)) {
      const found = traitsOf(step).secrets.find(({ secretRef: { namespace, name } }) => {
        return name === secret.name && namespace === secret.namespace;
      });
      if (found === undefined) continue;
      // The token of a webhook is not a part of the input.
      if (found.name === undefined) return new Map([["token", Buffer.from("(not recorded)")]]);
      const data = secretData(this.#steps.get(step.name), found.name);
      if (data !== undefined) return data;
    }
    return undefined;
  }
}

/** The recorded masks as the content of a Secret. */
function secretData(step: RecordedStep | undefined, name: string): ReadonlyMap<string, Uint8Array> | undefined {
  const data = valueAt(step?.calls[0]?.input, "credentials", name, "data");
  return isObject(data)
    ? new Map(Object.entries(textsAt(data)).map(([key, text]) => [key, Buffer.from(text)]))
    : undefined;
}

const SUMMARIES: Readonly<Partial<Record<RecordingErrorCode, string>>> = {
  InputDiffers: "its input differs from the recorded one",
};

const KINDS: Readonly<Record<StepType, string>> = {
  Package: "a function package",
  Function: "a FunctionIO function",
};

function titleOf(step: string): string {
  return `step ${JSON.stringify(step)}`;
}
