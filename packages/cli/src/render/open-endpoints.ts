import { stepsOf, traitsOf } from "@xfn/composition";
import type { FunctionRunner, WebhookCaller } from "@xfn/pipeline";
import type { CallProgress } from "../runner/call-progress.ts";
import type { LazyRunner } from "../runner/lazy-runner.ts";
import type { FunctionConnections } from "./function-connections.ts";
import type { RenderOptions } from "./render-options.ts";
import type { Endpoints } from "./run-plan.ts";
import type { ResolvedImages } from "./step-images.ts";

type EndpointOptions = Pick<RenderOptions, "pull" | "freshFunctions" | "maxOutput">;

export interface EndpointTools {
  readonly runner: LazyRunner;
  readonly progress: CallProgress;
  readonly signal: AbortSignal;
  /** Closes what is opened. */
  readonly closing: AsyncDisposableStack;
}

/** Opens the callers that the steps of a Composition need, and loads the code of no other. */
export async function openEndpoints(
  inputs: ResolvedImages,
  options: EndpointOptions,
  tools: EndpointTools,
): Promise<Endpoints> {
  const { runner, progress } = tools;
  const used = new Set(stepsOf(inputs.composition).map((step) => traitsOf(step).caller));
  if (used.has("runner")) await runner.ready();
  const functions = used.has("functions") ? await functionConnections(inputs, options, tools) : undefined;
  const webhooks = used.has("webhooks") ? await webhookCaller(options, tools) : undefined;
  const stderr = new Map<string, string>();
  return {
    callers: {
      runner: recordStderr(progress.observe(runner), stderr),
      ...(functions && { functions }),
      ...(webhooks && { webhooks }),
    },
    begin(step) {
      progress.begin(step);
      functions?.begin(step.name);
    },
    stderrOf: (step) => stderr.get(step) ?? functions?.stderrOf(step),
    run: async (render) => await render(),
  };
}

// Loaded on demand: most Compositions need no gRPC.
async function functionConnections(
  { functions, built }: ResolvedImages,
  { pull, freshFunctions: fresh = false }: EndpointOptions,
  { runner, signal, closing }: EndpointTools,
): Promise<FunctionConnections> {
  const { FunctionConnections } = await import("./function-connections.ts");
  const input = { functions, built, pull, fresh, signal, host: () => runner.host() };
  return closing.adopt(new FunctionConnections(input), (connections) => connections.close());
}

async function webhookCaller({ maxOutput }: EndpointOptions, { closing }: EndpointTools): Promise<WebhookCaller> {
  const { createWebhookCaller } = await import("@xfn/pipeline/webhook");
  return closing.adopt(createWebhookCaller({ maxOutputBytes: maxOutput }), (webhooks) => webhooks.close());
}

// No error carries the stderr of a function that returned a fatal result, because its process succeeded.
function recordStderr(runner: FunctionRunner, stderr: Map<string, string>): FunctionRunner {
  return {
    maxOutputBytes: runner.maxOutputBytes,
    run: (image, input, options = {}) => {
      const onStderr = (tail: string): void => {
        stderr.set(options.step ?? "", tail);
        options.onStderr?.(tail);
      };
      return runner.run(image, input, { ...options, onStderr });
    },
  };
}
