import type { Composition } from "@xfn/composition";
import type { LiveObject } from "@xfn/kubernetes";
import type { Actor } from "../../account/actor.ts";
import type { Actors } from "../../account/actors.ts";
import type { SelectedRevision } from "../../revision/select-revision.ts";
import type { ReconcileReader } from "./reconcile-reader.ts";

export type ActorName = "own" | "xr" | "composition";

/** The users whose rights one reconcile of one XR has. */
export interface CompositeActors extends Actors {
  /**
   * Reads and writes the objects that the Composition reads and composes: the Composition's account, or the actor of
   * the XR if no account is named or selected yet.
   */
  readonly composition: Actor;
  readonly reader: (as: ActorName) => ReconcileReader;
  /** Selects the revision of an XR. @throws {SelectionError | ApiError} */
  readonly select: (xr: LiveObject) => Promise<SelectedRevision>;
  /** Uses the rights of a Composition's account from now on. @throws {CompositeError} if they may not be used */
  readonly composeWith: (composition: Composition, xr: LiveObject) => Promise<void>;
}
