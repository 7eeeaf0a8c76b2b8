import type { LiveObject } from "@xfn/kubernetes";
import type { FunctionConnector, FunctionRunner, ResponseCache, WebhookCaller } from "@xfn/pipeline";
import type { Tracing } from "@xfn/program/tracing";
import { RequiredSchemas } from "../../functions/required-schemas.ts";
import { type FunctionsInput, stepFunctions } from "../../functions/step-functions.ts";
import type {
  EndedFunction,
  PackageUse,
  PipelineInspector,
  RunnerDirectory,
  RunRecordings,
} from "../../objects/context.ts";
import { PullSecretCache } from "./pull-secret-cache.ts";

/** Finds the credentials for the registry of a step's package, first in pull secrets with these names. */
type AuthOfPackage = (step: string, image: string, secrets: readonly string[]) => ReturnType<PackageUse["auth"]>;

/** The callers of functions that all runs use. */
interface SharedCallers {
  /** Runs functions. Absent: functions are disabled, and Compositions with functions are not composed. */
  readonly runner?: FunctionRunner | undefined;
  /** The runners that steps may name in `container.runner.endpoint`. Absent: none. */
  readonly runners?: RunnerDirectory | undefined;
  /** Calls functions of type Webhook. Absent: functions are disabled, and a step with a webhook fails. */
  readonly webhooks?: WebhookCaller | undefined;
  /** Function responses that can be reused. Absent: each run calls every function. */
  readonly responses?: ResponseCache | undefined;
  /** Recordings of runs (`--debug-recordings`). Absent: no runs are recorded. */
  readonly recordings?: RunRecordings | undefined;
  /** Receives the calls of functions (`--enable-pipeline-inspector`). Absent: no inspector. */
  readonly inspector?: PipelineInspector | undefined;
  /** Called after each call of a function. */
  readonly onFunction?: ((ended: EndedFunction) => void) | undefined;
  /** Exports spans of steps. Absent: no traces. */
  readonly tracing?: Tracing | undefined;
}

/** Options of {@link callersOf}, with the controller's own rights: functions and pull secrets belong to the cluster. */
export interface CallersOptions extends SharedCallers, FunctionsInput {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The functions of Compositions, and the caches that their runs share. */
export interface CompositeCallers extends Required<SharedCallers> {
  /** Connects the steps of a CompositionRevision to their functions. */
  readonly connector: (revision: LiveObject, authOf: AuthOfPackage) => FunctionConnector;
  readonly pullSecrets: PullSecretCache;
  readonly schemas: RequiredSchemas;
}

/** The functions of a controller without state of earlier runs. */
export function callersOf(options: CallersOptions): CompositeCallers {
  const { inspector, onFunction, recordings, responses, runner, runners, tracing, webhooks } = options;
  return {
    inspector,
    onFunction,
    recordings,
    responses,
    runner,
    runners,
    tracing,
    webhooks,
    connector: (revision, authOf) => stepFunctions(options, revision, authOf),
    pullSecrets: new PullSecretCache(options),
    schemas: new RequiredSchemas(options.now),
  };
}
