import type { JsonObject } from "@xfn/functionio";
import type { Client } from "@xfn/kubernetes";

/** What a scenario's people do, and with what. */
export interface Actor {
  /** In the names of everything that belongs to this run. */
  readonly id: string;
  /** May do everything; its field manager is `person`. */
  readonly client: Client;
  /** `kubectl apply`, in the order given. */
  apply(...objects: readonly JsonObject[]): Promise<void>;
}

/** Something that people do, after which the controllers are to settle. */
export interface Step {
  readonly name: string;
  act(actor: Actor): Promise<void>;
  /** Looks at what came of it in a run without faults: a scenario in which nothing happens proves nothing. @throws where it is wrong */
  expect(actor: Actor): Promise<void>;
}

/** A story, told again and again with another fault. */
export interface Scenario {
  readonly name: string;
  readonly steps: readonly Step[];
  /** Why reconciles may still fail when everything has settled. Default: none may. */
  readonly mayFail?: RegExp | undefined;
}
