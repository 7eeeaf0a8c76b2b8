import type { LiveObject } from "@xfn/kubernetes";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { REVISIONS } from "../../objects/kinds.ts";
import { referenceTo } from "../../objects/references.ts";
import type { Plan } from "../../plan/plan.ts";
import type { Failure } from "../state/explain-failure.ts";

/**
 * Plans to give an unused revision its runtimes back at once, because a run of it has failed without them.
 *
 * @param revision the CompositionRevision that ran
 */
export function planReuse(revision: LiveObject, { reason }: Failure): Plan {
  if (reason !== "FunctionNotReady" || REVISIONS.of(revision).status.unusedSince === undefined) return { stages: [] };
  const action = {
    do: "patch",
    as: "own",
    on: referenceTo(revision),
    part: "status",
    manager: FIELD_MANAGERS.package,
    why: "a composite resource uses the revision again",
    body: { status: { unusedSince: null } },
    seen: revision,
    guard: "version",
  } as const;
  return { stages: [{ name: "reuse", actions: [action], onFailure: "collect" }] };
}
