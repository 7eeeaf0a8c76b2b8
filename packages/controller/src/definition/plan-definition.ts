import type { ApiError, LiveObject, Outcome } from "@xfn/kubernetes";
import type { InstanceProblems } from "../objects/context.ts";
import { objectKey, referenceTo } from "../objects/references.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import type { Outcome as Written } from "../plan/outcome.ts";
import type { Plan } from "../plan/plan.ts";
import { accountCondition } from "./account-condition.ts";
import { type CrdState, planCrd, type SeenCrd } from "./definition-crd.ts";
import { accountOf, type ByInstances, type Subject } from "./definition-port.ts";
import { definitionStatus, type PlannedStatus, planFinalizers, planStatus } from "./definition-status.ts";

const PENDING = { is: "pending" } as const;

/** A definition or a publication as observed. */
export interface SeenDefinition {
  readonly subject: Subject;
  readonly crds: ByInstances<SeenCrd>;
  /** The service account, or why it cannot be read. */
  readonly account: ApiError | LiveObject | undefined;
  readonly problems: InstanceProblems;
  /** Whether a watch reports changes of the CRDs. */
  readonly isWatched: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface PlannedDefinition {
  /** The writes to the finalizers and to the CRDs after them, so that a deletion finds each CRD. */
  readonly writes: Plan;
  /** The states of the CRDs before these writes. A CRD that must be written is pending. */
  readonly states: ByInstances<CrdState>;
  readonly status: PlannedStatus;
  /** The time until the definition must be checked again. */
  readonly outcome: Outcome | undefined;
}

/**
 * Plans a definition or a publication. After its writes, a second plan with the answers of the API server has the
 * status.
 */
export function planDefinition(seen: SeenDefinition): PlannedDefinition {
  const { subject, now } = seen;
  const { object, definition } = subject;
  const finalizers = planFinalizers(subject);
  const crds = [seen.crds.composites, seen.crds.claims].map((crd) => crd && planCrd(subject, crd));
  const writes = crds.flatMap((crd) => (crd === undefined || "is" in crd ? [] : [crd]));
  const stages = [
    { name: "finalizers", actions: finalizers === undefined ? [] : [finalizers], onFailure: "stop" },
    { name: "CRDs", actions: writes, onFailure: "collect" },
  ] as const;
  const [composites, claims] = crds.map((crd) => crd && ("is" in crd ? crd : PENDING));
  const states = { composites, claims };
  const problems = { composites: composites && seen.problems.composites, claims: claims && seen.problems.claims };
  const { conditions, controllers } = definitionStatus(definition, states, problems);
  const account = accountCondition(object, accountOf(subject), seen.account);
  const status = { conditions: account === undefined ? conditions : [...conditions, account], controllers };
  const isUnlisted = problems.composites !== undefined || problems.claims !== undefined;
  const needsUser = isUnlisted || (account !== undefined && account.status !== "True");
  const all = [composites?.is, claims?.is, needsUser ? "refused" : undefined] as const;
  return {
    writes: { stages },
    states,
    status: planStatus(object, status, now),
    outcome: requeueFor(all, seen.isWatched),
  };
}

/** The definition after its writes. */
export function withAnswers(seen: SeenDefinition, { results, latest }: Written): SeenDefinition {
  const { object } = seen.subject;
  const answers = new Map(
    [...results].map(([{ on }, one]) => [objectKey(on), one.is === "failed" ? one.error : latest(on)]),
  );
  const answered = (crd: SeenCrd | undefined): SeenCrd | undefined =>
    crd && { ...crd, answer: answers.get(objectKey(referenceTo(crd.desired))) };
  return {
    ...seen,
    subject: { ...seen.subject, object: latest(referenceTo(object)) ?? object },
    crds: { composites: answered(seen.crds.composites), claims: answered(seen.crds.claims) },
  };
}

/** The time until CRDs in these states must be checked again. */
export function requeueFor(states: readonly (CrdState["is"] | undefined)[], isWatched: boolean): Outcome | undefined {
  if (states.includes("pending"))
    return { requeueAfterMs: isWatched ? REQUEUE_AFTER_MS.watchedCrdPending : REQUEUE_AFTER_MS.crdPending };
  if (states.includes("deleting")) return { requeueAfterMs: REQUEUE_AFTER_MS.instancesDeletion };
  return states.includes("refused") ? { requeueAfterMs: REQUEUE_AFTER_MS.userAction } : undefined;
}
