import type { FunctionCaller, FunctionRequest, FunctionRun } from "@xfn/function-grpc";
import type { FunctionRunner } from "@xfn/runner-contract";
import type { FunctionConnector, WebhookCaller } from "../steps/pipeline-input.ts";
import type { StepType } from "./recording.ts";

/** The callers of a run's functions, one for each kind of call. */
export interface Callers {
  readonly runner: FunctionRunner;
  readonly webhooks?: WebhookCaller;
  readonly functions?: FunctionConnector;
}

/** Observes the calls of functions. */
export interface CallTap {
  /** Called when a call begins. Its owner can hand the bytes to a worker afterwards: copy what must last. */
  began(step: string, type: StepType, input: Uint8Array | FunctionRequest): CallEnd;
  /** Called with the token of a webhook, which its input does not contain. */
  sentToken(token: string): void;
}

/** Observes the end of one call. */
export interface CallEnd {
  returned(output: Uint8Array | FunctionRun): void;
  failed(error: unknown): void;
}

/** Wraps callers, so that a tap observes their calls. */
export function tapped<T extends Partial<Callers>>(callers: T, tap: CallTap): T {
  const { runner, webhooks, functions } = callers;
  return {
    ...callers,
    ...(runner && { runner: tappedRunner(runner, tap) }),
    ...(webhooks && { webhooks: tappedWebhooks(webhooks, tap) }),
    ...(functions && { functions: tappedFunctions(functions, tap) }),
  };
}

function tappedRunner(runner: FunctionRunner, tap: CallTap): FunctionRunner {
  return {
    maxOutputBytes: runner.maxOutputBytes,
    run: async (image, input, options = {}) =>
      await observed(tap.began(options.step ?? image, "Function", input), runner.run(image, input, options)),
  };
}

function tappedWebhooks(webhooks: WebhookCaller, tap: CallTap): WebhookCaller {
  return {
    maxOutputBytes: webhooks.maxOutputBytes,
    call: async (url, input, options) => {
      if (options.token !== undefined) tap.sentToken(options.token);
      return await observed(tap.began(options.step, "Function", input), webhooks.call(url, input, options));
    },
  };
}

function tappedFunctions(functions: FunctionConnector, tap: CallTap): FunctionConnector {
  return {
    connect: async (step) => {
      const caller = await functions.connect(step);
      const run: FunctionCaller["run"] = async (request, options) =>
        await observed(tap.began(step.name, "Package", request), caller.run(request, options));
      return { version: caller.version, run };
    },
  };
}

async function observed<T extends Uint8Array | FunctionRun>(end: CallEnd, running: Promise<T>): Promise<T> {
  try {
    const output = await running;
    end.returned(output);
    return output;
  } catch (error) {
    end.failed(error);
    throw error;
  }
}
