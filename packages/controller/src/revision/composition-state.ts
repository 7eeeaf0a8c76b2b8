import { type Composition, checkComposition, checkConnectionKeys, documentOf } from "@xfn/composition";
import { checkDefinition } from "@xfn/composition/definition";
import { apiVersionOf, type LiveObject } from "@xfn/kubernetes";
import { type Condition, conditionIn, conditionOf, withConditions } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { compositeKindOf, definedKind } from "../objects/definition-kinds.ts";
import { COMPOSITIONS, INFRASTRUCTURE_DEFINITIONS, REVISIONS } from "../objects/kinds.ts";
import { LABEL_COMPOSITION_HASH } from "../objects/labels.ts";
import { isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { isPaused } from "../objects/read-objects.ts";
import { numberOf } from "./read-revision.ts";
import { contentHash, hashLabel } from "./revision-name.ts";

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
 * @param problem of another kind than those that its content shows
 * @param current the revision with the current content
 */
export function compositionConditions(
  context: Pick<Context, "informers">,
  composition: LiveObject,
  check: CompositionCheck,
  current: LiveObject | undefined,
  problem: Problem | undefined = check.problem ?? brokenContract(context, check),
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
function brokenContract(
  { informers }: Pick<Context, "informers">,
  { composition }: CompositionCheck,
): Problem | undefined {
  const definitions = informers.peek(INFRASTRUCTURE_DEFINITIONS)?.list() ?? [];
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

/**
 * The revision with the current content of a Composition, and the highest number of the others.
 *
 * @param hash of the current content
 * @param revisions of any Compositions
 */
export function currentRevision(
  composition: LiveObject,
  hash: string,
  revisions: readonly LiveObject[],
): { same: LiveObject | undefined; newest: number } {
  const own = revisions.filter((revision) => isControlledBy(revision, composition));
  const same = own.find(({ metadata }) => metadata.labels?.[LABEL_COMPOSITION_HASH] === hashLabel(hash));
  const newest = Math.max(0, ...own.filter((revision) => revision !== same).map(numberOf));
  return { same, newest };
}

/**
 * Whether a reconcile would change nothing, as far as the caches of Compositions and revisions show. Then it needs no
 * request: the caches report every later change as an event.
 */
export function isCompositionSettled(context: Context, name: string): boolean {
  const composition = context.informers.peek(COMPOSITIONS)?.get(name);
  const revisions = context.informers.peek(REVISIONS)?.list();
  if (composition === undefined || revisions === undefined || isBeingDeleted(composition)) return false;
  if (isPaused(composition)) return true;
  const check = checkContent(composition);
  const { same, newest } = currentRevision(composition, contentHash(composition), revisions);
  const conditions = compositionConditions(context, composition, check, same);
  if (withConditions(composition, conditions, context.now()) !== undefined) return false;
  if (check.problem !== undefined) return true;
  return same !== undefined && numberOf(same) > newest;
}
