import type { PackageStep } from "@xfn/composition";
import type { LiveObject } from "@xfn/kubernetes";
import type { OperationResult } from "@xfn/pipeline/operation";
import { observedSteps } from "../composite/run/observed-steps.ts";
import { pullAuth } from "../composite/run/pull-auth.ts";
import { NamedInputs } from "../composite/state/named-inputs.ts";
import type { Shown } from "../composite/state/shown.ts";
import { RequiredObjects } from "../functions/required-objects.ts";
import { stepCredentials } from "../functions/step-credentials.ts";
import type { OperationPort } from "./operation-port.ts";

/**
 * Runs the functions of an Operation, with the controller's rights. The objects that these require are read live.
 *
 * @param shown learns the values of Secrets, which texts must not show
 * @throws {PipelineError}
 */
export async function runSteps(
  { access: { client }, callers, limits }: OperationPort,
  operation: LiveObject,
  steps: readonly PackageStep[],
  { shown, signal }: { readonly shown: Shown; readonly signal: AbortSignal },
): Promise<OperationResult> {
  // Loaded with the first Operation, because its modules speak gRPC.
  const { runOperation } = await import("@xfn/pipeline/operation");
  const { secrets } = shown;
  const { allowComposedSecrets, credentialsSecretNamespaces } = limits;
  const required = new RequiredObjects({ client, allowComposedSecrets, signal, schemas: callers.schemas });
  const inputs = new NamedInputs();
  secrets.addNames([operation.metadata.name, ...steps.map(({ name }) => name)]);
  const functions = callers.connector(operation, async (step, image, names) =>
    pullAuth({ callers, clock: { signal }, limits, shown }, inputs, {
      step,
      image,
      secrets: names.map((name) => ({ name })),
    }),
  );
  const inspected = { object: operation, composition: undefined, steps, secrets: () => secrets.values };
  const result = await runOperation({
    steps,
    runner: callers.runner,
    ...(callers.inspector?.inspect(inspected, { functions }) ?? { functions }),
    required: {
      schema: (selector) => required.schema(selector),
      resources: async (selector) => {
        const found = await required.resources(selector);
        for (const { resource } of found) secrets.addObject(resource);
        return found;
      },
    },
    credentials: async (reference) => {
      const data = await stepCredentials({ client }, credentialsSecretNamespaces, reference, signal);
      for (const value of data?.values() ?? []) secrets.add(value);
      return data;
    },
    signal,
    inStep: observedSteps(callers),
  });
  for (const object of result.desired.values()) secrets.addObject(object);
  return result;
}
