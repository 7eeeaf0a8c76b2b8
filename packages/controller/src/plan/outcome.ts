import type { ApiError, LiveObject, ObjectReference } from "@xfn/kubernetes";
import type { Action } from "./action.ts";

/** The result of one action. */
export type Result =
  /** The server stored the write. `object` is undefined if the server deleted the object at once. */
  | { readonly is: "done"; readonly object: LiveObject | undefined }
  /** The object no longer exists. */
  | { readonly is: "gone" }
  /** The server refused the write. `Conflict`: the object has changed, so the plan is outdated. */
  | { readonly is: "failed"; readonly error: ApiError }
  /** An earlier failure prevented the action. */
  | { readonly is: "skipped" };

/** The results of a plan's actions. */
export interface Outcome<As extends string = "own"> {
  readonly results: ReadonlyMap<Action<As>, Result>;
  /** The object after the last action on it; undefined if no action changed it. */
  latest(on: ObjectReference): LiveObject | undefined;
}

/** The first failed action with its error. A conflict comes before other errors, because it may have caused them. */
export function firstFailure<As extends string>({
  results,
}: Pick<Outcome<As>, "results">): { readonly action: Action<As>; readonly error: ApiError } | undefined {
  const failures = [...results].flatMap(([action, result]) =>
    result.is === "failed" ? [{ action, error: result.error }] : [],
  );
  return failures.find(({ error }) => error.code === "Conflict") ?? failures[0];
}
