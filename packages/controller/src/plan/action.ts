import type { JsonObject, KubernetesObject } from "@xfn/json";
import type { LiveObject, ObjectReference } from "@xfn/kubernetes";

/**
 * One write. A plan has an action only if it changes something.
 *
 * @typeParam As the actors of the kind that is reconciled, whose rights a write can have
 */
export type Action<As extends string = "own"> = {
  /** The actor whose rights the write uses. */
  readonly as: As;
  readonly on: ObjectReference;
  readonly manager: string;
  /** Absent: the object itself. */
  readonly part?: "status" | undefined;
  /** For people, such as readers of a dry run. It does not affect the execution. */
  readonly why: string;
} & Change;

/** The kind of write, with its content. */
export type Change =
  /** Sends a server-side apply. `seen` is undefined if the apply creates the object. */
  | {
      readonly do: "apply";
      /** Every field that the manager must own, and no other. */
      readonly intent: KubernetesObject;
      readonly seen: LiveObject | undefined;
      readonly guard: Guard;
      /** Whether the apply takes over fields of other managers. Default: true. */
      readonly force?: boolean | undefined;
    }
  | { readonly do: "create"; readonly object: KubernetesObject }
  /** Replaces the object, which must have the same resourceVersion as `object`. */
  | { readonly do: "update"; readonly object: LiveObject }
  /** Sends a merge patch. */
  | { readonly do: "patch"; readonly body: JsonObject; readonly seen: LiveObject; readonly guard: Guard }
  | {
      readonly do: "delete";
      readonly seen: LiveObject;
      readonly guard: Guard;
      readonly propagation?: "Background" | "Foreground" | "Orphan" | undefined;
    }
  /** Writes nothing: requires that the object on the server is unchanged. */
  | { readonly do: "confirm"; readonly seen: LiveObject };

/**
 * The precondition of a write. `none`: no precondition. `uid`: the object must have the same UID, so that another
 * object with the same name is not changed. `version`: the object must also have the same resourceVersion.
 */
export type Guard = "none" | "uid" | "version";
