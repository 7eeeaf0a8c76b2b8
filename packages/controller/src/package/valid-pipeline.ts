import { listAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { Condition } from "../objects/conditions.ts";
import { FUNCTION_REVISIONS, REVISIONS } from "../objects/kinds.ts";
import { LABEL_PACKAGE, labelValue } from "../objects/labels.ts";
import { isActive } from "./package-conditions.ts";
import type { Cluster } from "./package-port.ts";

const COMPOSITION = "composition";

/**
 * The condition `ValidPipeline` of a CompositionRevision, as in Crossplane: whether the Functions of its steps can
 * compose. A package that declares no capability can, and so can a Function that is not installed yet.
 *
 * @returns undefined if no step names a Function, or the revisions of Functions are not listed yet
 */
export function pipelineCondition(
  { informers }: Pick<Cluster, "informers">,
  revision: LiveObject,
): Condition | undefined {
  const cache = informers.peek(FUNCTION_REVISIONS);
  const named = REVISIONS.of(revision).spec.pipeline.map(({ functionRef: { name } }) => name);
  const names = new Map(named.filter((name) => name !== undefined).map((name) => [labelValue(name), name]));
  if (names.size === 0 || cache === undefined) return undefined;
  const type = "ValidPipeline";
  for (const one of cache.list().filter(isActive)) {
    const name = names.get(one.metadata.labels?.[LABEL_PACKAGE] ?? "");
    const capabilities = listAt(one, "status", "capabilities").filter((capability) => typeof capability === "string");
    if (name === undefined || capabilities.length === 0 || capabilities.some(isComposition)) continue;
    const message =
      `the Function ${name} (revision ${one.metadata.name}) lacks the capability composition; it has ` +
      `${capabilities.join(", ")}; name another Function`;
    return { type, status: "False", reason: "MissingCapabilities", message };
  }
  return { type, status: "True", reason: "ValidPipeline" };
}

/** Capabilities are compared by their letters and digits, as in Crossplane. */
function isComposition(capability: string): boolean {
  return capability.toLowerCase().replaceAll(/[^a-z0-9]/g, "") === COMPOSITION;
}
