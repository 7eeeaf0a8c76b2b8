import type { Rollout } from "@xfn/composition";
import { layoutOfDefinition } from "@xfn/composition/definition";
import { isPatched, type JsonObject } from "@xfn/json";
import { ApiError, type EventRecorder, type LiveObject, type Outcome, type Reconcile } from "@xfn/kubernetes";
import { PipelineError } from "@xfn/pipeline";
import type { ComposingOptions } from "../composite/state/composite-shared.ts";
import { explainFailure } from "../composite/state/explain-failure.ts";
import type { RevisionComposites } from "../definition/find-definition.ts";
import type { RolloutPhase } from "../kinds/compositions.ts";
import { CompositeError } from "../objects/composite-error.ts";
import { timestamp } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { COMPOSITIONS, REVISIONS, referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { isPaused, type Reader } from "../objects/read-objects.ts";
import { shortened } from "../objects/shortened.ts";
import { compositionOf, numberOf } from "../revision/read-revision.ts";
import {
  BUCKETS,
  bucketOf,
  isForAll,
  isInCanary,
  isRolledOutInSteps,
  newestFirst,
  phaseOf,
} from "../revision/rollout-state.ts";
import { checkCanary, isHealthy } from "./check-canary.ts";
import type { Difference } from "./differences.ts";
import { followersOf } from "./followers.ts";
import { type ShadowRun, shadowRun } from "./shadow-run.ts";

// Conditions of XRs are read from a cache.
const CHECK_MS = 1_000;
/** A short duration leaves time for the pull of a package, too. */
const PATIENCE_MS = 60_000;
const MAX_MESSAGE = 1_024;
/** Names of the canary's XRs in the status. */
const MAX_NAMES = 20;
/** Over all XRs of a rollout: the revision's status stays below 64 KiB. */
const MAX_DIFFERENCES = 100;

/**
 * Advances the rollout of the newest revision of a Composition. The key is the Composition's name.
 *
 * The state is in `status.rollout` of the revision. Each write names the resource version of the revision that was
 * read, so of two controllers one advances it. A crash between two writes repeats a shadow run at most.
 */
export function rolloutReconciler(options: RolloutOptions): Reconcile {
  const { client, informers, events, now } = options;
  const port: RolloutPort = { client, informers, events, now, shadow: async (run) => await shadowRun(options, run) };
  return async (name, signal) => {
    const composition = port.informers.peek(COMPOSITIONS)?.get(name);
    const cached = port.informers.peek(REVISIONS)?.list();
    if (composition === undefined || cached === undefined || isBeingDeleted(composition)) return undefined;
    if (isPaused(composition)) return undefined;
    const [newest, ...older] = newestFirst(composition, cached);
    for (const one of older) await supersede(port, one, signal);
    if (newest === undefined || isForAll(newest) || phaseOf(newest) === "RolledBack") return undefined;
    const earlier = older.find(isForAll);
    const { rollout } = compositionOf(newest).spec;
    const step = { port, composition, revision: newest, signal, earlier };
    // Without an earlier revision, which only a user can have deleted, XRs use this one already.
    if (rollout === undefined || earlier === undefined) return enter(step, "Complete", "there is no earlier revision");
    const followers = followersOf(port, newest, name);
    if (followers === "unknown") return { requeueAfterMs: CHECK_MS };
    const run: RolloutRun = { ...step, rollout };
    if (followers === "none") return enter(run, "Complete", "no composite resource uses the Composition");
    return phaseOf(newest) === "Canary" ? watchCanary(run, followers) : prepare(run, followers);
  };
}

/** The dependencies and settings of {@link rolloutReconciler}. */
export interface RolloutOptions extends ComposingOptions {
  readonly events: EventRecorder;
}

/** Everything that the reconciles of rollouts use. */
interface RolloutPort extends Reader {
  readonly events: EventRecorder;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The differences that a revision would make to an XR. */
  readonly shadow: (run: ShadowRun) => Promise<Difference[]>;
}

interface RolloutRun extends RolloutStep {
  readonly rollout: Rollout;
}

interface RolloutStep {
  readonly port: RolloutPort;
  readonly composition: LiveObject;
  readonly revision: LiveObject;
  /** The revision that XRs use meanwhile. */
  readonly earlier: LiveObject | undefined;
  readonly signal: AbortSignal;
}

/** Ends the rollout of a revision that is no longer the newest. */
async function supersede(port: RolloutPort, revision: LiveObject, signal: AbortSignal): Promise<void> {
  const phase = phaseOf(revision);
  if (!isRolledOutInSteps(revision) || (phase !== undefined && phase !== "Shadow" && phase !== "Canary")) return;
  await writeStatus(port, revision, { phase: "Superseded", message: "the Composition has a newer revision" }, signal);
}

/** Begins the rollout, and runs the revision in shadow. */
async function prepare(run: RolloutRun, { definition, xrs }: RevisionComposites): Promise<Outcome | undefined> {
  const { port, revision, rollout, signal } = run;
  if (xrs.length === 0)
    return enter(run, "Complete", "no composite resource follows the Composition's newest revision");
  if (phaseOf(revision) === undefined) return enter(run, "Shadow", "composes in shadow");
  const shadow: JsonObject[] = [];
  const failures: string[] = [];
  const composition = compositionOf(revision);
  const inOrder = byOrder(
    xrs,
    (xr) => rollout.canary.matchLabels !== undefined && isInCanary(revision, composition, xr),
  );
  const chosen = inOrder.slice(0, rollout.shadowComposites);
  for (const xr of chosen) {
    const { name, namespace } = xr.metadata;
    const one: JsonObject = { name, ...(namespace !== undefined && { namespace }) };
    try {
      const found = await port.shadow({ definition, revision, composition, xr, signal });
      shadow.push({ ...one, ...bounded(found, Math.floor(MAX_DIFFERENCES / chosen.length)) });
    } catch (error) {
      if (signal.aborted) throw error;
      const { reason, message } = explainFailure(error);
      const text = shortened(`${reason}: ${message}`, MAX_MESSAGE);
      if (isTemporary(error) && port.now() < startOf(revision) + Math.max(rollout.durationMs, PATIENCE_MS)) {
        await writeStatus(port, revision, { message: `waits to compose ${name} in shadow: ${text}` }, signal);
        return { requeueAfterMs: CHECK_MS };
      }
      shadow.push({ ...one, error: text });
      failures.push(`${name}: ${text}`);
    }
  }
  if (failures.length > rollout.maxFailures)
    return enter(run, "RolledBack", `failed in shadow: ${failures.join("; ")}`, { shadow });
  return enter(run, "Canary", "watches the canary", {
    shadow,
    canarySince: timestamp(port.now()),
    canaryBuckets: rollout.canary.percent === undefined ? null : bucketsOf(rollout.canary.percent, xrs),
  });
}

/** At least one healthy XR is in a canary of a percentage, however few there are. */
function bucketsOf(percent: number, xrs: readonly LiveObject[]): number {
  const first = Math.min(...xrs.filter(isHealthy).map(bucketOf));
  const wanted = (percent * BUCKETS) / 100;
  return Number.isFinite(first) ? Math.max(wanted, first + 1) : wanted;
}

async function watchCanary(run: RolloutRun, { definition, xrs }: RevisionComposites): Promise<Outcome | undefined> {
  const { port, revision, rollout, signal } = run;
  if (xrs.length === 0)
    return enter(run, "Complete", "no composite resource follows the Composition's newest revision");
  const since = Date.parse(REVISIONS.of(revision).status.rollout.canarySince ?? "");
  const composition = compositionOf(revision);
  const until = since + rollout.durationMs;
  const inCanary = xrs.filter((xr) => isInCanary(revision, composition, xr));
  const { verdict, message } = checkCanary({
    xrs: inCanary,
    layout: layoutOfDefinition(definition),
    revision: revision.metadata.name,
    since,
    until,
    now: port.now(),
    maxFailures: rollout.maxFailures,
  });
  const fields = { canary: namesOf(inCanary), canaryUntil: timestamp(until) };
  // The first check can end the canary, if the writes of earlier ones failed.
  if (verdict === "Failed") return enter(run, "RolledBack", `failed in the canary: ${message}`, fields);
  if (verdict === "Passed") return enter(run, "Complete", message, fields);
  await writeStatus(port, revision, { ...fields, message }, signal);
  return { requeueAfterMs: CHECK_MS };
}

/** The names of XRs, for the status: the first of many. */
function namesOf(xrs: readonly LiveObject[]): JsonObject {
  const sorted = xrs
    .map(({ metadata: { name, namespace } }) => (namespace === undefined ? name : `${namespace}/${name}`))
    .toSorted();
  const omitted = sorted.length - MAX_NAMES;
  return { composites: sorted.slice(0, MAX_NAMES), omitted: omitted > 0 ? omitted : null };
}

/** XRs in the order in which they are composed in shadow. */
function byOrder(xrs: readonly LiveObject[], isFirst: (xr: LiveObject) => boolean): LiveObject[] {
  const rank = (xr: LiveObject): number => (isFirst(xr) ? 0 : BUCKETS) + bucketOf(xr);
  return xrs.toSorted((a, b) => rank(a) - rank(b) || (a.metadata.uid < b.metadata.uid ? -1 : 1));
}

function bounded(differences: readonly Difference[], most: number): JsonObject {
  const kept = differences.slice(0, most).map((one): JsonObject => ({ ...one }));
  const omitted = differences.length - kept.length;
  return { differences: kept, ...(omitted > 0 && { omitted }) };
}

/** Whether a run can succeed later without a change of the revision. */
function isTemporary(error: unknown): boolean {
  const cause = error instanceof PipelineError && error.cause instanceof CompositeError ? error.cause : error;
  return (
    (cause instanceof CompositeError || cause instanceof PipelineError || cause instanceof ApiError) && cause.retryable
  );
}

function startOf(revision: LiveObject): number {
  return Date.parse(REVISIONS.of(revision).status.rollout.startedAt ?? "");
}

/** Enters a phase: one write, then an event on the Composition. */
async function enter(
  { port, composition, revision, earlier, signal }: RolloutStep,
  phase: RolloutPhase,
  message: string,
  fields: JsonObject = {},
): Promise<Outcome | undefined> {
  const begins = phaseOf(revision) === undefined;
  const first: JsonObject = begins
    ? {
        startedAt: timestamp(port.now()),
        canarySince: null,
        canary: null,
        canaryUntil: null,
        canaryBuckets: null,
        shadow: null,
      }
    : {};
  const from = earlier?.metadata.name ?? null;
  await writeStatus(port, revision, { ...first, ...fields, phase, from, message }, signal);
  const name = `revision ${numberOf(revision)} (${revision.metadata.name})`;
  const isFailure = phase === "RolledBack";
  port.events.record(composition, {
    type: isFailure ? "Warning" : "Normal",
    reason: isFailure ? "RolledBack" : "Rollout",
    message: shortened(`${name}: ${phase}: ${message}`, MAX_MESSAGE),
  });
  return phase === "Shadow" || phase === "Canary" ? { requeueAfterMs: CHECK_MS } : undefined;
}

/** @throws {ApiError} `Conflict` if the revision has changed since it was read */
async function writeStatus(
  { client }: RolloutPort,
  revision: LiveObject,
  fields: JsonObject & { readonly message: string },
  signal: AbortSignal,
): Promise<void> {
  const message = shortened(fields.message, MAX_MESSAGE);
  const rollout: JsonObject = { ...fields, message, revision: numberOf(revision) };
  const current = REVISIONS.of(revision).status.rollout.toJSON();
  if (isPatched(current, rollout)) return;
  const { name, resourceVersion } = revision.metadata;
  const options = { subresource: "status", fieldManager: FIELD_MANAGERS.composition, signal } as const;
  const body = { metadata: { resourceVersion }, status: { rollout } };
  await client.patch(referenceOf(REVISIONS, name), "merge", body, options);
}
