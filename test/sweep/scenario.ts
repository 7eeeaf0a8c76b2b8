import type { JsonObject } from "@xfn/json";
import type { Client } from "@xfn/kubernetes";

/** The user of a scenario. */
export interface Actor {
  /** Part of the names of all objects of this run. */
  readonly id: string;
  /** The client of an administrator, with the field manager `person`. */
  readonly client: Client;
  /** `kubectl apply`, in the order given. */
  apply(...objects: readonly JsonObject[]): Promise<void>;
}

/** An action of a user. The controllers settle after it. */
export interface Step {
  readonly name: string;
  act(actor: Actor): Promise<void>;
  /** Checks the result in a run without faults: a scenario without effect tests nothing. @throws if it is wrong */
  expect(actor: Actor): Promise<void>;
}

/** A sequence of steps, which runs again and again with another fault. */
export interface Scenario {
  readonly name: string;
  readonly steps: readonly Step[];
  /** The failures that may remain when everything has settled. Default: none. */
  readonly mayFail?: RegExp | undefined;
}
