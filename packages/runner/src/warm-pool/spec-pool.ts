import { Demand } from "./demand.ts";

/** A sandbox that is kept for a call. */
export interface Kept<S> {
  readonly sandbox: S;
  /** Whether its runtime waits already, so that its function cannot be started but for a call. */
  readonly loaded: boolean;
  /** Since when, in milliseconds of the pool's clock. */
  readonly since: number;
  /** Its memory when it was last measured. */
  bytes: number | undefined;
  cpuMs: number;
  measuredAt: number;
}

/** What is kept for the calls of one recipe, and what is known of them. */
export class Shelf<R, S> {
  readonly recipe: R;
  readonly demand: Demand;
  /** Ready to be started: they cost no more than a mount, and a process where they are loaded. */
  readonly prepared: Kept<S>[] = [];
  /** Started: their functions wait for input. Oldest first. */
  readonly waiting: Kept<S>[] = [];
  lastUse = 0;
  uses = 0;
  /** No sandbox is kept before this: one could not be made, or did not wait. */
  notBefore = 0;
  /** What the last one that was measured took, in bytes. */
  estimate = 0;

  constructor(recipe: R, windowMs: number) {
    this.recipe = recipe;
    this.demand = new Demand(windowMs);
  }

  get bytes(): number {
    return this.waiting.reduce((sum, kept) => sum + (kept.bytes ?? this.estimate), 0);
  }
}
