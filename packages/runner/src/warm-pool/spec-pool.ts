import { Demand } from "./demand.ts";

export interface PooledSandbox<S> {
  readonly sandbox: S;
  /** Whether its OCI runtime is loaded and waits. The function of such a sandbox is started only for a call. */
  readonly loaded: boolean;
  /** The time at which it entered the pool, in milliseconds of the pool's clock. */
  readonly since: number;
  /** Its memory at the last measurement, in bytes. */
  bytes: number | undefined;
  cpuMs: number;
  measuredAt: number;
}

/** The pooled sandboxes of one spec, and the statistics of its calls. */
export class SpecPool<Spec, S> {
  readonly spec: Spec;
  readonly demand: Demand;
  /** Sandboxes that are not started: each costs a mount, and a process if its runtime is loaded. */
  readonly prepared: PooledSandbox<S>[] = [];
  /** Started sandboxes, whose functions wait for input. Oldest first. */
  readonly waiting: PooledSandbox<S>[] = [];
  lastUse = 0;
  uses = 0;
  /** No sandbox is prepared before this time: the last one could not be prepared, or did not stay waiting. */
  notBefore = 0;
  /** Memory of the last measured sandbox, in bytes. */
  estimate = 0;

  constructor(spec: Spec, windowMs: number) {
    this.spec = spec;
    this.demand = new Demand(windowMs);
  }

  get bytes(): number {
    return this.waiting.reduce((sum, pooled) => sum + (pooled.bytes ?? this.estimate), 0);
  }
}
