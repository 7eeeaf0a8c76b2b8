import { type Composition, isComplete, stepsOf } from "@xfn/composition";
import { type ObservedResource, SYSTEM_CONDITIONS } from "@xfn/functionio";
import { objectsAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { type FunctionRunner, type PipelineResult, runPipeline, secretDetails } from "@xfn/pipeline";
import type { Callers } from "@xfn/pipeline/recording";
import type { Actor } from "../../account/actor.ts";
import { RequiredObjects } from "../../functions/required-objects.ts";
import { stepCredentials } from "../../functions/step-credentials.ts";
import { StrictSchemas } from "../../functions/strict-schemas.ts";
import { CompositeError } from "../../objects/composite-error.ts";
import type { Condition } from "../../objects/conditions.ts";
import { referenceOf, SECRETS } from "../../objects/kinds.ts";
import { withoutManagedFields } from "../../objects/managed-fields.ts";
import { isControlledBy } from "../../objects/owner.ts";
import type { SelectedRevision } from "../../revision/select-revision.ts";
import { appliedByRuns } from "../plan/composite-intent.ts";
import type { CompositePort, Subject } from "../state/composite-port.ts";
import { explainFailure } from "../state/explain-failure.ts";
import type { RunSecrets } from "../state/run-secrets.ts";
import { observedSteps } from "./observed-steps.ts";
import { type PulledImage, pullAuth } from "./pull-auth.ts";
import type { RunEnvironment } from "./run-environment.ts";
import { stepRunner } from "./step-runner.ts";

/** The runner for Compositions without functions, which never call it. */
const NO_RUNNER: FunctionRunner = {
  run: () => Promise.reject(new CompositeError("FunctionsDisabled", "composition functions are disabled")),
};

/** The objects that a run reads in addition to the XR. */
export interface RunState {
  readonly observed: ObservedResource[];
  /** The XR's connection secret; undefined if it does not exist. */
  readonly secret: LiveObject | undefined;
  readonly environment: RunEnvironment;
}

/**
 * Runs the templates and functions of a Composition, and emits their results as events.
 *
 * @throws {CompositeError} `FatalResult`, `RunnerNotAllowed`
 * @throws {PipelineError}
 */
export async function runComposition(
  port: CompositePort,
  { layout, memory, xr }: Subject,
  { composition, revision }: Pick<SelectedRevision, "composition" | "revision">,
  { observed, secret, environment }: RunState,
): Promise<PipelineResult> {
  const { actors, callers, clock, limits, shown } = port;
  const { signal } = clock;
  const { secrets } = shown;
  const runner = stepRunner(callers, composition, callers.runner ?? NO_RUNNER);
  const { allowComposedSecrets, credentialsSecretNamespaces } = limits;
  noteGiven(secrets, xr, composition, { observed, secret });
  const { client, required: watches, title } = actors.composition;
  const openApi = callers.schemas;
  const required = new RequiredObjects(
    { client, required: watches, allowComposedSecrets, signal, schemas: openApi },
    title,
  );
  const schemas = new StrictSchemas({ client: actors.own.client, informers: actors.own.informers, signal });
  const auth = async (image: PulledImage): ReturnType<typeof pullAuth> => await pullAuth(port, memory.inputs, image);
  const callersOfRun: Callers = {
    runner,
    ...(callers.webhooks && { webhooks: callers.webhooks }),
    functions: callers.connector(revision, async (step, image, names) =>
      auth({ step, image, secrets: names.map((name) => ({ name })) }),
    ),
  };
  const { name = "" } = composition.metadata;
  const inspected = { object: xr, composition: name, steps: stepsOf(composition), secrets: () => secrets.values };
  const used = callers.inspector?.inspect(inspected, callersOfRun) ?? callersOfRun;
  const recordings = callers.recordings?.wants(xr) ? callers.recordings : undefined;
  // A recorded run calls every function: a stored output has no input to record.
  const responses = recordings === undefined && callers.responses;
  const runWith = async (by: Callers): Promise<PipelineResult> =>
    await runPipeline({
      composite: withoutManagedFields(xr),
      applied: appliedByRuns(xr, layout),
      composition,
      observed,
      ...(secret && isControlledBy(secret, xr) && { connectionDetails: secretDetails(secret) }),
      ...(environment.environment && { environment: environment.environment }),
      ...by,
      required: {
        schema: (selector) => required.schema(selector),
        resources: async (selector) => {
          const found = await required.resources(selector);
          for (const { resource } of found) secrets.addObject(resource);
          return found;
        },
      },
      schemas,
      credentials: async (reference) => {
        memory.inputs.note(referenceOf(SECRETS, reference.name, reference.namespace));
        const data = await stepCredentials(actors.composition, credentialsSecretNamespaces, reference, signal);
        for (const value of data?.values() ?? []) secrets.add(value);
        return data;
      },
      ...(responses && { responses }),
      signal,
      inStep: observedSteps(callers),
      auth: ({ name, container }) => auth({ step: name, image: container.image, secrets: container.imagePullSecrets }),
    });
  const recorded = { xr, composition: composition.metadata.name };
  const run = await unlessTooMany(
    actors.xr,
    xr,
    async () => await (recordings === undefined ? runWith(used) : recordings.record(recorded, used, runWith)),
  );
  // A failed run may not have requested everything, so the watches of the last complete run stay.
  actors.xr.required.watch(xr, [...environment.selections, ...required.selections, ...schemas.selections]);
  for (const { resource } of run.composed) secrets.addObject(resource);
  for (const [, value] of run.connectionDetails) secrets.add(value);
  shown.addResults(run.results.filter(({ severity }) => severity !== "Fatal"));
  shown.addConditions(run.conditions, run.fatal !== undefined && isComplete(composition) ? undetermined(xr) : []);
  if (run.fatal === undefined) return run;
  const { step = "", message } = run.fatal;
  throw new CompositeError("FatalResult", `pipeline step ${JSON.stringify(step)} returned a fatal result: ${message}`);
}

/** Notes the Secrets that a run receives at its start, and the names that messages may show. */
function noteGiven(
  secrets: RunSecrets,
  xr: LiveObject,
  composition: Composition,
  { observed, secret }: Pick<RunState, "observed" | "secret">,
): void {
  const steps = stepsOf(composition);
  secrets.addNames([composition.metadata.name, ...steps.map(({ name }) => name), ...observed.map(({ name }) => name)]);
  for (const object of [xr, ...observed.map(({ resource }) => resource), ...(secret ? [secret] : [])])
    secrets.addObject(object);
  for (const { connectionDetails = [] } of observed) for (const { value } of connectionDetails) secrets.add(value);
}

/** The conditions of earlier runs after a fatal result, as in Crossplane: no function has confirmed them. */
function undetermined(xr: LiveObject): Condition[] {
  return objectsAt(xr, "status", "conditions").flatMap(({ type }): Condition[] => {
    if (typeof type !== "string" || SYSTEM_CONDITIONS.has(type)) return [];
    const message = "A fatal error occurred before the status of this condition could be determined.";
    return [{ type, status: "Unknown", reason: "FatalError", message }];
  });
}

/** Ends an XR's watches if its functions require too many objects: the caches would hold all of them. */
async function unlessTooMany<T>(
  { required }: Pick<Actor, "required">,
  xr: LiveObject,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (explainFailure(error).reason === "TooManyRequired") required.watch(xr, []);
    throw error;
  }
}
