import type { Layout } from "@xfn/composition";
import type { Definition } from "@xfn/composition/definition";
import type { LiveObject } from "@xfn/kubernetes";
import type { CompositeActors } from "./composite-actors.ts";
import type { CompositeCallers } from "./composite-callers.ts";
import type { CompositeMemory } from "./composite-memory.ts";
import type { PlanWriter } from "./plan-writer.ts";
import type { Shown } from "./shown.ts";

/** The operator's settings for Compositions. */
export interface CompositeLimits {
  /** Whether core Secrets may be composed, and Secrets without a controller read (`--allow-composed-secrets`). */
  readonly allowComposedSecrets: boolean;
  /** The namespaces from which functions may get Secrets (`--credentials-secret-namespaces`). */
  readonly credentialsSecretNamespaces: readonly string[];
  /** Whether each version of a function has a FunctionRuntime (`--enable-function-runtimes`). */
  readonly functionRuntimes: boolean;
  /** The controller's own namespace. */
  readonly namespace: string;
  /** Other namespaces from which pull secrets may be read (`--pull-secret-namespaces`). */
  readonly pullSecretNamespaces: readonly string[];
  /** Whether `spec.rollout` of Compositions has an effect (`--enable-rollouts`). */
  readonly rollouts: boolean;
  /** The controller's own service account, whose pull secrets apply to every image. */
  readonly serviceAccount: string | undefined;
}

/** Options of {@link limitsOf}. Default: nothing that the operator must allow. */
export type LimitsOptions = Pick<CompositeLimits, "namespace" | "pullSecretNamespaces"> & {
  readonly [Name in keyof CompositeLimits]?: CompositeLimits[Name] | undefined;
};

export function limitsOf(options: LimitsOptions): CompositeLimits {
  const { allowComposedSecrets = false, credentialsSecretNamespaces = [], functionRuntimes = false } = options;
  const { namespace, pullSecretNamespaces, rollouts = false, serviceAccount } = options;
  return {
    allowComposedSecrets,
    credentialsSecretNamespaces,
    functionRuntimes,
    namespace,
    pullSecretNamespaces,
    rollouts,
    serviceAccount,
  };
}

/** Everything that one reconcile uses, except its XR. */
export interface CompositePort {
  readonly actors: CompositeActors;
  readonly callers: CompositeCallers;
  readonly clock: {
    /** Milliseconds since the epoch. */
    readonly now: () => number;
    /** Aborts the reconcile. */
    readonly signal: AbortSignal;
  };
  readonly limits: CompositeLimits;
  readonly shown: Shown;
  readonly writer: PlanWriter;
}

/** The XR that is reconciled. */
export interface Subject {
  readonly definition: Definition;
  /** The location of the fields that the controller reads and writes. */
  readonly layout: Layout;
  readonly memory: CompositeMemory;
  /** As last read or written. */
  xr: LiveObject;
}
