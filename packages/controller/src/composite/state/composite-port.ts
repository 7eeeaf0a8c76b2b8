import type { Layout } from "@xfn/composition";
import type { Definition } from "@xfn/composition/definition";
import type { LiveObject } from "@xfn/kubernetes";
import type { FunctionsInput } from "../../functions/step-functions.ts";
import type { CompositeActors } from "./composite-actors.ts";
import type { CompositeCallers } from "./composite-callers.ts";
import type { CompositeMemory } from "./composite-memory.ts";
import type { PlanWriter } from "./plan-writer.ts";
import type { Shown } from "./shown.ts";

/** The operator's settings for Compositions. */
export interface CompositeLimits extends Pick<FunctionsInput, "functionRuntimes" | "namespace"> {
  /**
   * Whether Compositions may compose core Secrets, and read Secrets without a controller (`--allow-composed-secrets`).
   * Default: false.
   */
  readonly allowComposedSecrets?: boolean | undefined;
  /** The namespaces from which functions may get Secrets (`--credentials-secret-namespaces`). Default: none. */
  readonly credentialsSecretNamespaces?: readonly string[] | undefined;
  /** Other namespaces from which pull secrets may be read (`--pull-secret-namespaces`). */
  readonly pullSecretNamespaces: readonly string[];
  /** Whether `spec.rollout` of Compositions has an effect (`--enable-rollouts`). Default: false. */
  readonly rollouts?: boolean | undefined;
  /** The controller's own service account, whose pull secrets apply to every image. Absent: it has no pull secrets. */
  readonly serviceAccount?: string | undefined;
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
