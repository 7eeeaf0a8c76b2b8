import type { JsonObject, KubernetesObject } from "@xfn/json";
import type { LiveObject, ObjectReference } from "@xfn/kubernetes";

/**
 * One write. A plan has an action only if it changes something.
 *
 * @typeParam As the actors of the kind that is reconciled, whose rights a write can have
 */
export type Action<As extends string = "own"> = {
  /** The actor whose rights the write has. */
  readonly as: As;
  readonly on: ObjectReference;
  /** The field manager. */
  readonly manager: string;
  /** Absent: the object itself. */
  readonly part?: "status" | undefined;
  /** For people, such as readers of a dry run. Nothing decides by it. */
  readonly why: string;
} & Change;

/** What an action does. */
export type Change =
  /** Sends a server-side apply. `seen` is absent for an object that it creates. */
  | {
      readonly do: "apply";
      /** Every field that the manager must own, and no other. */
      readonly intent: KubernetesObject;
      readonly seen: LiveObject | undefined;
      readonly guard: Guard;
    }
  | { readonly do: "create"; readonly object: KubernetesObject }
  /** Sends a merge patch. */
  | { readonly do: "patch"; readonly body: JsonObject; readonly seen: LiveObject; readonly guard: Guard }
  | {
      readonly do: "delete";
      readonly seen: LiveObject;
      readonly guard: Guard;
      readonly propagation?: "Background" | "Foreground" | undefined;
    }
  /** Writes nothing: requires that the object on the server is the one that was seen. */
  | { readonly do: "confirm"; readonly seen: LiveObject };

/**
 * What must not have changed since the object was seen: nothing but its UID, so that another object of its name is left
 * alone, or its version too. An object without a guard is written whatever it is now.
 */
export type Guard = "none" | "uid" | "version";
