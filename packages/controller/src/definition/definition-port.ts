import type { Definition } from "@xfn/composition/definition";
import type { JsonValue, KubernetesObject } from "@xfn/json";
import type { Client, EventRecorder, Informers, LiveObject } from "@xfn/kubernetes";
import type { ApplyCache } from "../objects/apply-cache.ts";
import type { DefinitionBursts, InstanceProblems } from "../objects/context.ts";

/** The needs of the reconcilers of definitions and publications. */
export interface DefinitionPort {
  readonly client: Client;
  readonly informers: Pick<Informers, "peek">;
  readonly events: EventRecorder;
  /** Why the instances of a definition cannot be listed, by its `definitionKey`. */
  readonly instanceProblems: (definition: string) => InstanceProblems;
  /** Defers the ClusterRoles of definitions during a burst. */
  readonly bursts: DefinitionBursts;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** A port without knowledge of the instances: they can be listed, and roles are written at once. */
export type DefinitionNeeds = Omit<DefinitionPort, "bursts" | "instanceProblems"> & {
  readonly bursts?: DefinitionBursts | undefined;
  readonly instanceProblems?: DefinitionPort["instanceProblems"] | undefined;
};

const AT_ONCE: DefinitionBursts = { report: () => undefined, deferralMs: () => 0, forget: () => undefined };

export function definitionPort(needs: DefinitionNeeds): DefinitionPort {
  const { client, informers, events, instanceProblems = () => ({}), bursts = AT_ONCE, now } = needs;
  return { client, informers, events, instanceProblems, bursts, now };
}

/** A value for each kind of instances. A publication has only claims. */
export interface ByInstances<T> {
  readonly composites?: T | undefined;
  readonly claims?: T | undefined;
}

/** A definition or a publication, with the objects that it must have. */
export interface Subject {
  readonly object: LiveObject;
  /** The checked definition: of a publication, that of its InfrastructureDefinition. */
  readonly definition: Definition;
  /** The `definitionKey` of the definition. */
  readonly key: string;
  readonly crds: ByInstances<KubernetesObject>;
  readonly memory: DefinitionMemory;
}

/** The service account that composes for a definition. A publication composes nothing. */
export function accountOf({ crds, definition }: Subject): Definition["spec"]["serviceAccountRef"] {
  return crds.composites && definition.spec.serviceAccountRef;
}

/** The state of one definition that the process retains between reconciles. It only saves requests and events. */
export interface DefinitionMemory {
  readonly applies: ApplyCache;
  /** The messages of emitted events about roles, which are not repeated. */
  readonly emitted: Set<string>;
  /** Set while the definition waits for its CRD. */
  pending?: PendingCrd | undefined;
  /** Whether the last reconcile found the definition settled. */
  isSettled?: boolean | undefined;
}

/** A CRD that was not established in the last complete reconcile. */
export interface PendingCrd {
  readonly name: string;
  /** The UID of the definition. */
  readonly uid: string;
  readonly generation: JsonValue | undefined;
  /** Milliseconds since the epoch. */
  readonly readAt: number;
}
