import { messageOf } from "@xfn/errors";
import type { FunctionRequest, FunctionRun } from "@xfn/function-grpc";
import { isObject, type JsonObject } from "@xfn/json";
import { parseTrustedJson } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import { outputDocument } from "../recording/make-recording.ts";
import { requestDocument } from "../recording/package-document.ts";
import type { StepType } from "../recording/recording.ts";
import { SecretMasks } from "../recording/secret-masks.ts";
import { type Callers, tapped } from "../recording/tapped-callers.ts";
import { REDACTED, requestJson, responseJson } from "./message-json.ts";
import { isWithin } from "./size-bound.ts";

/** One call of a function. */
export interface InspectedCall {
  /** The name of the step. */
  readonly step: string;
  /** The number of the step's calls before. */
  readonly iteration: number;
}

/** A response as JSON, or why there is none. */
export interface InspectedResponse {
  readonly response: string;
  readonly error: string;
}

/**
 * Receives the calls of a run, while it runs. To render a message masks its secrets, which takes time: do it later.
 * Rendering returns undefined for a message that is larger than the bound.
 */
export interface RunInspector {
  requested(call: InspectedCall, render: () => string | undefined): void;
  responded(call: InspectedCall, render: () => InspectedResponse | undefined): void;
}

/** Options of {@link inspectedCallers}. */
export interface InspectionOptions {
  /** The bound of a message, in bytes of JSON. */
  readonly maxBytes: number;
  /** The values of the Secrets that the run has read. */
  readonly secrets: () => Iterable<Uint8Array>;
}

/** Wraps the callers of one run, so that an inspector receives their calls, without secrets. */
export function inspectedCallers<T extends Partial<Callers>>(
  callers: T,
  inspector: RunInspector,
  options: InspectionOptions,
): T {
  const calls = new Map<string, number>();
  const tokens: Uint8Array[] = [];
  const secrets = (): Iterable<Uint8Array> => [...options.secrets(), ...tokens];
  return tapped(callers, {
    sentToken: (token) => void tokens.push(Buffer.from(token)),
    began: (step, type, input) => {
      const iteration = calls.get(step) ?? 0;
      calls.set(step, iteration + 1);
      const call = { step, iteration };
      const messages = new CallMessages(type, kept(input, options), { ...options, secrets });
      inspector.requested(call, () => messages.request());
      return {
        returned: (given) => {
          const output = kept(given, options);
          inspector.responded(call, () => messages.response(output));
        },
        failed: (error) => inspector.responded(call, () => messages.failure(error)),
      };
    },
  });
}

/** A copy of bytes, because their owner can hand them to a worker. Undefined if they exceed the bound. */
function kept<T>(value: T | Uint8Array, { maxBytes }: InspectionOptions): T | Uint8Array | undefined {
  if (!(value instanceof Uint8Array)) return value;
  return value.length > maxBytes ? undefined : value.slice();
}

/** The messages of one call as JSON. */
class CallMessages {
  readonly #type: StepType;
  readonly #input: Uint8Array | FunctionRequest | undefined;
  readonly #options: InspectionOptions;
  #request: JsonObject | undefined;

  constructor(type: StepType, input: Uint8Array | FunctionRequest | undefined, options: InspectionOptions) {
    this.#type = type;
    this.#input = input;
    this.#options = options;
  }

  request(): string | undefined {
    const document = this.#document();
    if (document === undefined) return undefined;
    const masked = this.#masks([document]).mask(document);
    return this.#printed(this.#type === "Package" ? requestJson(masked) : masked);
  }

  response(output: Uint8Array | FunctionRun | undefined): InspectedResponse | undefined {
    const request = this.#document();
    if (request === undefined || output === undefined || !isWithin(output, this.#options.maxBytes)) return undefined;
    const document = outputDocument(output, request);
    if (document === undefined) return { response: "", error: "the function returned something else than one object" };
    // A function can copy a secret of its request to any position.
    const masked = this.#masks([request, document]).mask(document);
    const response = this.#printed(this.#type === "Package" ? responseJson(masked) : masked);
    return response === undefined ? undefined : { response, error: "" };
  }

  failure(error: unknown): InspectedResponse | undefined {
    const request = this.#document();
    if (request === undefined) return undefined;
    return { response: "", error: this.#masks([request]).scrub(messageOf(error)) };
  }

  #document(): JsonObject | undefined {
    if (this.#request !== undefined) return this.#request;
    const input = this.#input;
    if (input === undefined || !isWithin(input, this.#options.maxBytes)) return undefined;
    if (!(input instanceof Uint8Array)) return (this.#request = requestDocument(input));
    const document = parseTrustedJson(input);
    return isObject(document) ? (this.#request = document) : undefined;
  }

  #masks(documents: readonly JsonObject[]): SecretMasks {
    return new SecretMasks(documents, [], this.#options.secrets(), REDACTED);
  }

  #printed(document: JsonObject): string | undefined {
    const text = printJson(document);
    return Buffer.byteLength(text) > this.#options.maxBytes ? undefined : text;
  }
}
