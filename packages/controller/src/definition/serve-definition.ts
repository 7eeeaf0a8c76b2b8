import { textAt } from "@xfn/json";
import { ApiError, type LiveObject, type Outcome } from "@xfn/kubernetes";
import { isBeingDeleted } from "../objects/owner.ts";
import { isPaused } from "../objects/read-objects.ts";
import { servedVersions } from "../objects/served-versions.ts";
import { isEmpty } from "../plan/plan.ts";
import { carryOut, carryOutStatus } from "./carry-out.ts";
import type { CrdState, SeenCrd } from "./definition-crd.ts";
import {
  accountOf,
  type ByInstances,
  type DefinitionMemory,
  type DefinitionPort,
  type Subject,
} from "./definition-port.ts";
import { cannotGrant, definitionRoles, planRoles } from "./definition-roles.ts";
import { planInvalid } from "./definition-status.ts";
import { observeDefinition, observeRoles, peekDefinition, peekRoles } from "./observe-definition.ts";
import { planDefinition, withAnswers } from "./plan-definition.ts";
import { subjectOf } from "./read-definition.ts";

/**
 * Plans a definition according to the caches, which report every later change as an event.
 *
 * @returns `nothing` if no write remains, the subject if only roles do; undefined if the caches cannot say
 */
export function planCached(
  port: DefinitionPort,
  object: LiveObject | undefined,
  memory: DefinitionMemory,
): Subject | "nothing" | undefined {
  if (object === undefined || isBeingDeleted(object)) return undefined;
  if (isPaused(object)) return "nothing";
  const subject = subjectOf(object, memory);
  if ("problem" in subject)
    return planInvalid(object, subject.problem, port.now()).action === undefined ? "nothing" : undefined;
  // Accounts are not cached.
  if (accountOf(subject) !== undefined) return undefined;
  const { writes, status, outcome, states } = planDefinition(peekDefinition(port, subject));
  if (!isEmpty(writes) || status.action !== undefined || outcome !== undefined) return undefined;
  const { actions, warnings } = planRoles(subject, peekRoles(port, definitionRoles(subject, states)));
  return actions.length + warnings.length === 0 ? "nothing" : subject;
}

/** Makes the API server serve the instances of a definition or a publication, and reports that in its status. */
export async function serveDefinition(
  port: DefinitionPort,
  subject: Subject,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { key, memory } = subject;
  const seen = await observeDefinition(port, subject, signal);
  const { writes } = planDefinition(seen);
  const done = await carryOut(port, writes, signal, { apply: ["Invalid", "Forbidden"] }, memory.applies);
  const answered = withAnswers(seen, done);
  const { states, status, outcome } = planDefinition(answered);
  forgetKinds(port, answered.crds);
  const all = [states.composites?.is, states.claims?.is];
  const first = states.composites ?? states.claims;
  const { uid, generation } = answered.subject.object.metadata;
  const name = (subject.crds.composites ?? subject.crds.claims)?.metadata?.name ?? "";
  memory.pending = first?.is === "pending" ? { name, uid, generation, readAt: seen.now } : undefined;
  port.bursts.report(key, all.includes("pending"));
  const waitMs = first?.is === "established" ? port.bursts.deferralMs(key) : 0;
  if (all.includes("refused") || (first?.is === "established" && waitMs === 0))
    await grantRoles(port, answered.subject, signal, states);
  await carryOutStatus(port, answered.subject.object, status, signal);
  return outcome ?? (waitMs > 0 ? { requeueAfterMs: waitMs } : undefined);
}

/**
 * Applies the roles of a definition. A role that cannot be applied only causes an event: users with other roles can
 * still use the definition.
 */
export async function grantRoles(
  port: DefinitionPort,
  subject: Subject,
  signal: AbortSignal,
  states: ByInstances<CrdState> = { composites: { is: "established" }, claims: { is: "established" } },
): Promise<void> {
  const { object, memory } = subject;
  const roles = await observeRoles(port, definitionRoles(subject, states), signal);
  const { actions, warnings } = planRoles(subject, roles);
  const stages = [{ name: "roles", actions, onFailure: "collect" }] as const;
  const { results } = await carryOut(port, { stages }, signal, { apply: ["Forbidden"] }, memory.applies);
  const refused = [...results].flatMap(([{ on }, result]) =>
    result.is === "failed" ? [cannotGrant(on.name, result.error)] : [],
  );
  for (const { reason, message } of [...warnings, ...refused]) {
    if (!memory.emitted.has(message)) port.events.record(object, { type: "Warning", reason, message });
    memory.emitted.add(message);
  }
}

/**
 * Forgets only the versions of the written CRDs. With many definitions, other kinds would be looked up again for each
 * of them.
 */
function forgetKinds({ client }: DefinitionPort, { composites, claims }: ByInstances<SeenCrd>): void {
  const written = [composites, claims].filter((crd) => crd?.answer !== undefined && !(crd.answer instanceof ApiError));
  for (const crd of written.flatMap((one) => [one?.observed, one?.answer] as (LiveObject | undefined)[])) {
    const group = textAt(crd, "spec", "group") ?? "";
    for (const version of crd === undefined ? [] : servedVersions(crd))
      client.forgetKinds(`${group}/${textAt(version, "name") ?? ""}`);
  }
}
