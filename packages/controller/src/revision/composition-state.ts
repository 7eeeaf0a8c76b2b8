import { type Composition, checkComposition, checkConnectionKeys, documentOf } from "@xfn/composition";
import { checkDefinition } from "@xfn/composition/definition";
import { apiVersionOf, type LiveObject } from "@xfn/kubernetes";
import { type Condition, conditionIn, conditionOf } from "../objects/conditions.ts";
import { compositeKindOf, definedKind } from "../objects/definition-kinds.ts";

/** An error of a Composition. One with a broken contract has a revision nevertheless: XRs report it too. */
export interface Problem {
  readonly reason: "InvalidComposition" | "CannotKeepRevision" | "ConnectionContract";
  readonly message: string;
}

/** The result of {@link checkContent}. */
export interface CompositionCheck {
  /** Why it can have no revision. */
  readonly problem: Problem | undefined;
  /** Fields without effect, and other advice to the author. */
  readonly warnings: readonly string[];
  /** Undefined if it has errors. */
  readonly composition: Composition | undefined;
}

/** Checks the content of a Composition. */
export function checkContent(composition: LiveObject): CompositionCheck {
  const { error, findings, composition: checked } = checkComposition(documentOf(composition));
  return {
    problem: error && { reason: "InvalidComposition", message: error.message },
    warnings: findings
      .filter(({ severity }) => severity === "warning")
      .map(({ path, message }) => `${path} ${message}`),
    composition: checked,
  };
}

/**
 * The conditions of a Composition: `Synced`, and with packages `RuntimesHealthy`, as its current revision has it.
 *
 * @param definitions all InfrastructureDefinitions
 * @param current the revision with the current content
 * @param problem of another kind than those that its content shows
 */
export function compositionConditions(
  definitions: readonly LiveObject[],
  composition: LiveObject,
  check: CompositionCheck,
  current: LiveObject | undefined,
  problem: Problem | undefined = check.problem ?? brokenContract(definitions, check),
): Condition[] {
  const conditions: Condition[] = [];
  if (problem !== undefined) conditions.push({ type: "Synced", status: "False", ...problem });
  else {
    const message = check.warnings.join("; ");
    conditions.push({ type: "Synced", status: "True", reason: "ReconcileSuccess", message });
  }
  const runtimes = current && conditionOf(current, RUNTIMES);
  const shown = runtimes && conditionIn(runtimes);
  if (shown !== undefined) conditions.push(shown);
  // The content before it named packages.
  else if (current !== undefined && conditionOf(composition, RUNTIMES) !== undefined)
    conditions.push({ type: RUNTIMES, status: "True", reason: "NoPackages" });
  return conditions;
}

const RUNTIMES = "RuntimesHealthy";

/** How templates break the connection contract of the InfrastructureDefinition of their kind. */
function brokenContract(definitions: readonly LiveObject[], { composition }: CompositionCheck): Problem | undefined {
  if (composition === undefined || definitions.length === 0) return undefined;
  const { apiVersion, kind } = composition.spec.compositeTypeRef;
  for (const object of definitions) {
    if (definedKind(object) !== kind) continue;
    const { definition } = checkDefinition(documentOf(object));
    if (definition === undefined || apiVersionOf(compositeKindOf(definition)) !== apiVersion) continue;
    const broken = checkConnectionKeys(composition, definition.spec.connectionSecretKeys)
      .filter(({ severity }) => severity === "error")
      .map(({ message }) => message);
    if (broken.length === 0) return undefined;
    const message = `${broken.join("; ")}: the connection contract of the InfrastructureDefinition ${object.metadata.name}`;
    return { reason: "ConnectionContract", message };
  }
  return undefined;
}
