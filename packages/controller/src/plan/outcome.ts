import type { ApiError, LiveObject, ObjectReference } from "@xfn/kubernetes";
import type { Action } from "./action.ts";

/** The result of one action. */
export type Result =
  /** The server stored it. `object` is undefined if it deleted the object at once. */
  | { readonly is: "done"; readonly object: LiveObject | undefined }
  /** The object does not exist any more. */
  | { readonly is: "gone" }
  /** The server refused it. `Conflict`: the object is not as it was seen, so the plan is outdated. */
  | { readonly is: "failed"; readonly error: ApiError }
  /** A failure before it prevented it. */
  | { readonly is: "skipped" };

/** What became of the actions of a plan. */
export interface Outcome<As extends string = "own"> {
  readonly results: ReadonlyMap<Action<As>, Result>;
  /** The object as the last action on it left it; undefined if none changed it. */
  latest(on: ObjectReference): LiveObject | undefined;
}

/** The first failed action with its error; a conflict before others, because they may be due to it. */
export function firstFailure<As extends string>({
  results,
}: Pick<Outcome<As>, "results">): { readonly action: Action<As>; readonly error: ApiError } | undefined {
  const failures = [...results].flatMap(([action, result]) =>
    result.is === "failed" ? [{ action, error: result.error }] : [],
  );
  return failures.find(({ error }) => error.code === "Conflict") ?? failures[0];
}
