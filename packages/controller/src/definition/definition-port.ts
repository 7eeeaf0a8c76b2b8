import type { JsonValue } from "@xfn/json";
import type { Client, EventRecorder, Informers } from "@xfn/kubernetes";
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

export function definitionPort({
  client,
  informers,
  events,
  instanceProblems = () => ({}),
  bursts = AT_ONCE,
  now,
}: DefinitionNeeds): DefinitionPort {
  return { client, informers, events, instanceProblems, bursts, now };
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
