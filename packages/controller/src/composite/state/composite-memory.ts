import { ApplyCache } from "../../objects/apply-cache.ts";
import type { BreakerLimits } from "../../objects/context.ts";
import { OwnWrites } from "../../objects/own-writes.ts";
import type { CompletedRun } from "./completed-run.ts";
import { FightBreaker } from "./fight-breaker.ts";
import { NamedInputs } from "./named-inputs.ts";
import { SettledReads } from "./settled-reads.ts";

/**
 * The state of one XR that the process retains between reconciles. It only saves requests and events: losing it changes
 * no result.
 */
export interface CompositeMemory {
  readonly uid: string;
  readonly writes: OwnWrites;
  readonly applies: ApplyCache;
  readonly fights: FightBreaker;
  /** Whether the last reconcile delayed writes because of a fight. */
  isCircuitOpen: boolean;
  readonly settled: SettledReads;
  readonly inputs: NamedInputs;
  /** The state after the last reconcile; undefined if the next run cannot be postponed. */
  completed: CompletedRun | undefined;
  /** The events of the last reconcile, which are not emitted again while they repeat. */
  events: ReadonlySet<string>;
  /** The names of the EnvironmentConfigs of the last run; undefined before the first one. */
  environment: readonly string[] | undefined;
  /** The number of consecutive conflicts. */
  conflicts: number;
  /** The number of consecutive reconciles that waited for connection details. */
  awaits: number;
  /** When a full runner began to refuse every run, in milliseconds since the epoch. */
  refusedSince: number | undefined;
}

export function emptyMemory(uid: string, now: () => number, breaker?: BreakerLimits): CompositeMemory {
  return {
    uid,
    writes: new OwnWrites(now),
    applies: new ApplyCache(),
    fights: new FightBreaker(now, breaker),
    isCircuitOpen: false,
    settled: new SettledReads(),
    inputs: new NamedInputs(),
    completed: undefined,
    events: new Set(),
    environment: undefined,
    conflicts: 0,
    awaits: 0,
    refusedSince: undefined,
  };
}
