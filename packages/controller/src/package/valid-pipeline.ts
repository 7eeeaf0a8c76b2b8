import { listAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { Condition } from "../objects/conditions.ts";
import { FUNCTION_REVISIONS, REVISIONS } from "../objects/kinds.ts";
import { LABEL_PACKAGE, labelValue } from "../objects/labels.ts";
import { isActive } from "./package-conditions.ts";
import type { Cluster } from "./package-port.ts";

/** A use of a function package, as its metadata declares. */
type Capability = "composition" | "operation";

/**
 * The condition `ValidPipeline` of a CompositionRevision, as in Crossplane: whether the Functions of its steps can
 * compose. A Function that is not installed yet can.
 *
 * @returns undefined if no step names a Function, or the revisions of Functions are not listed yet
 */
export function pipelineCondition(cluster: Pick<Cluster, "informers">, revision: LiveObject): Condition | undefined {
  const named = REVISIONS.of(revision).spec.pipeline.map(({ functionRef: { name } }) => name);
  const names = named.filter((name) => name !== undefined);
  if (names.length === 0 || cluster.informers.peek(FUNCTION_REVISIONS) === undefined) return undefined;
  const message = missingCapability(cluster, names, "composition");
  return message === undefined ? VALID_PIPELINE : invalidPipeline(message);
}

export const VALID_PIPELINE: Condition = { type: "ValidPipeline", status: "True", reason: "ValidPipeline" };

export function invalidPipeline(message: string): Condition {
  return { type: "ValidPipeline", status: "False", reason: "MissingCapabilities", message };
}

/**
 * Why an active revision of one of these Functions cannot be used; undefined if all can, as far as they are installed
 * and listed. As in Crossplane, a package that declares no capability can only compose.
 */
export function missingCapability(
  { informers }: Pick<Cluster, "informers">,
  functions: readonly string[],
  wanted: Capability,
): string | undefined {
  const names = new Map(functions.map((name) => [labelValue(name), name]));
  for (const one of (informers.peek(FUNCTION_REVISIONS)?.list() ?? []).filter(isActive)) {
    const name = names.get(one.metadata.labels?.[LABEL_PACKAGE] ?? "");
    if (name === undefined) continue;
    const declared = listAt(one, "status", "capabilities").filter((capability) => typeof capability === "string");
    const capabilities = declared.length === 0 ? ["composition"] : declared;
    if (capabilities.some((capability) => plain(capability) === wanted)) continue;
    return (
      `the Function ${name} (revision ${one.metadata.name}) lacks the capability ${wanted}; it has ` +
      `${capabilities.join(", ")}; name another Function`
    );
  }
  return undefined;
}

/** Capabilities are compared by their letters and digits, as in Crossplane. */
function plain(capability: string): string {
  return capability.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}
