import { setTimeout as sleep } from "node:timers/promises";
import { type Client, isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import type { FunctionRunner } from "@xfn/pipeline";
import type { Write, WriteFault } from "../harness/faulty-client.ts";
import { type Change, type History, isOf, violations } from "./history.ts";
import { CRDS, isWatched, NOPS } from "./kinds.ts";
import { type Life, startLife } from "./life.ts";
import { objectsAt, textAt } from "./objects.ts";
import { provide } from "./provider.ts";
import type { Random } from "./random.ts";
import type { Actor, Scenario } from "./scenario.ts";
import { namer, type Snapshot, snapshot } from "./snapshot.ts";
import { type Transcript, transcriptOf } from "./transcript.ts";

/** The faults of a run. */
export interface Faults {
  /** Called before each write of the whole run, numbered from 1. */
  faultAt(write: Write): WriteFault | undefined;
  /** Decides the order of reconciles and which caches are stale. Default: in order, and none. */
  readonly disorder?: Random | undefined;
}

export interface RunResult {
  /** The objects after each step, when everything has settled. */
  readonly snapshots: readonly Snapshot[];
  /** The writes of the controllers, in order. */
  readonly writes: readonly Write[];
  /** The same as texts that all runs share. */
  readonly transcript: Transcript;
  /** The violations, one line each. */
  readonly problems: readonly string[];
}

/** The server of all runs. */
export interface Testbed {
  /** The client of the history. */
  readonly client: Client;
  /** Makes the runner of one run. */
  readonly runner: () => FunctionRunner;
  readonly history: History;
}

// A scenario settles in five to fifteen passes. A deletion waits for the garbage collector. The deletion of a CRD takes
// the server some five seconds, in which a fast machine makes hundreds of passes.
const MAX_SETTLE_MS = 120_000;
const WAIT_MS = 25;
// The first pass may have seen an older state. After disorder, a watch may first have to be started, in two passes.
const QUIET_PASSES = 2;
// A failure that persists for this many passes without a write is permanent.
const STUCK_PASSES = 12;
// The part of caches that are stale in a run with disorder.
const STALE = 1 / 3;

let runs = 0;

/** Runs a scenario once. @param checks also checks each step's expectation */
export async function runScenario(
  scenario: Scenario,
  testbed: Testbed,
  faults: Faults,
  checks: boolean,
): Promise<RunResult> {
  const id = `r${(++runs).toString(36).padStart(4, "0")}${process.pid.toString(36)}`;
  const { client, history } = testbed;
  const isOurs = (object: LiveObject): boolean => isOf(object, id);
  const actor: Actor = {
    id,
    client,
    apply: async (...objects) => {
      for (const object of objects) await client.apply(object, { fieldManager: "person" });
    },
  };
  const writes: Write[] = [];
  const problems: string[] = [];
  const snapshots: Snapshot[] = [];
  const runner = testbed.runner();
  const late: Life[] = [];
  const veryLate: Life[] = [];
  // Times of a status are in seconds. A second for each pass that wrote lets the next one always write another time.
  let skewMs = 0;
  const begin = (): Life => {
    const earlier = writes.length;
    return startLife({
      client,
      runner,
      isOurs,
      lock: `${id}-lock`,
      known: history.objects,
      now: () => Date.now() + skewMs,
      faultAt: (write) => {
        const numbered = { ...write, number: earlier + write.number };
        writes.push(numbered);
        const fault = faults.faultAt(numbered);
        if (fault?.kind === "late") late.push(life);
        if (fault?.kind === "very-late") veryLate.push(life);
        return fault;
      },
    });
  };
  let life = begin();

  const settle = async (): Promise<readonly string[]> => {
    let quiet = 0;
    const began = performance.now();
    while (performance.now() - began < MAX_SETTLE_MS) {
      const { disorder } = faults;
      const isCalm = quiet > 0 || disorder === undefined;
      await history.caughtUp();
      await life.informers.refresh(isCalm ? undefined : () => disorder() > STALE);
      const { crashed, writes: written, failures, soon } = await life.pass(isCalm ? undefined : disorder);
      if (written > 0) skewMs += 1_000;
      if (crashed) {
        await life.faulty.drained();
        life = begin();
        quiet = 0;
        continue;
      }
      await history.caughtUp();
      const provided = await provide(client, (history.objects(NOPS) ?? []).filter(isOurs));
      await history.caughtUp();
      const ours = history.all().filter(isOurs);
      const isQuiet = written === 0 && provided === 0 && !isUnderWay(ours);
      quiet = isQuiet ? quiet + 1 : 0;
      if (quiet >= (disorder === undefined ? QUIET_PASSES : QUIET_PASSES + 2) && failures.length === 0 && !soon)
        return [];
      if (quiet >= STUCK_PASSES && !soon && !failures.some((failure) => isListedSoon(failure, ours))) return failures;
      // Do not poll the server all the time while waiting for it.
      if (quiet > 1 || (written === 0 && !isQuiet)) await sleep(WAIT_MS);
    }
    const last = writes.slice(-5).map(({ verb, object, subresource = "" }) => `${verb} ${object.kind} ${subresource}`);
    problems.push(`not settled after ${MAX_SETTLE_MS / 1000} s; the last writes: ${last.join(", ")}`);
    return [];
  };

  const ends: number[] = [];
  for (const step of scenario.steps) {
    const veryLateBefore = veryLate.splice(0);
    await step.act(actor);
    let failures = await settle();
    if (late.length + veryLateBefore.length > 0) {
      for (const dead of [...late.splice(0), ...veryLateBefore]) await dead.faulty.deliverLate();
      failures = await settle();
    }
    for (const failure of failures)
      if (!(scenario.mayFail?.test(failure) ?? false)) problems.push(`${step.name}: ${failure}`);
    if (checks) await step.expect(actor);
    snapshots.push(snapshot(history.all().filter(isOurs), id));
    ends.push(writes.length);
  }
  const before = writes.length;
  await history.caughtUp();
  await life.informers.refresh();
  await life.pass();
  for (const write of writes.slice(before))
    problems.push(`steady, and yet ${write.verb} of ${write.object.kind} ${write.object.name}`);
  problems.push(...violations(history.of(id)));
  const replace = namer(objectsOf(history.of(id)), id);
  const transcript = scenario.steps.map(({ name }, index) => ({
    step: name,
    writes: transcriptOf(writes.slice(ends[index - 1] ?? 0, ends[index]), replace),
  }));
  await cleanUp(client, history, isOurs);
  history.forget(id);
  return { snapshots, writes, transcript, problems };
}

/** The last state of each object that the run ever had. */
function objectsOf(changes: readonly Change[]): readonly LiveObject[] {
  return [...new Map(changes.map(({ object }) => [object.metadata.uid, object])).values()];
}

// Removes what a scenario leaves, which would make caches and lists grow. The instances of the run's own CRDs go first:
// their finalizers would occupy the few workers with which the server deletes CRDs, a minute each.
async function cleanUp(client: Client, history: History, isOurs: (object: LiveObject) => boolean): Promise<void> {
  const ours = history.all().filter(isOurs);
  const instances = await Promise.all(ours.filter(({ kind }) => kind === CRDS.kind).map((crd) => listOf(client, crd)));
  for (const object of [...instances.flat(), ...ours]) {
    const { apiVersion, kind, metadata } = object;
    const reference = { apiVersion, kind, name: metadata.name, namespace: metadata.namespace };
    const gone = (): undefined => undefined;
    if (metadata["finalizers"] !== undefined)
      await client.patch(reference, "merge", { metadata: { finalizers: null } }).catch(gone);
    await client.delete(reference).catch(gone);
  }
  await history.caughtUp();
}

/** The instances of a CRD; none if the server does not serve it (any more). */
async function listOf(client: Client, crd: LiveObject): Promise<readonly LiveObject[]> {
  const text = (...path: string[]): string => textAt(crd, "spec", ...path) ?? "";
  const [version] = objectsAt(crd, "spec", "versions");
  const kind: ResourceKind = {
    group: text("group"),
    version: textAt(version, "name") ?? "",
    kind: text("names", "kind"),
    plural: text("names", "plural"),
    namespaced: text("scope") === "Namespaced",
  };
  try {
    return (await client.list(kind)).items;
  } catch (error) {
    if (isApiError(error, "NotFound", "KindNotServed")) return [];
    throw error;
  }
}

/**
 * Whether a failure is about a kind that has a CRD and is not served yet. A busy server may take longer than
 * {@link STUCK_PASSES} passes to serve it.
 */
function isListedSoon(failure: string, objects: readonly LiveObject[]): boolean {
  const kinds = objects.flatMap((object) =>
    object.kind === CRDS.kind ? [textAt(object, "spec", "names", "kind")] : [],
  );
  return kinds.some((kind) => failure.includes(`does not serve kind ${kind} of`));
}

/**
 * Whether the server or its garbage collector is still working: an object is being deleted, or has lost an owner.
 */
function isUnderWay(objects: readonly LiveObject[]): boolean {
  const uids = new Set(objects.map(({ metadata }) => metadata.uid));
  return objects.some((object) => {
    if (object.metadata["deletionTimestamp"] !== undefined) return true;
    const owners = objectsAt(object, "metadata", "ownerReferences").filter((owner) =>
      isWatched(textAt(owner, "apiVersion"), textAt(owner, "kind")),
    );
    // The garbage collector deletes an object without owners, and removes one of several owners that is gone.
    return owners.some((owner) => !uids.has(textAt(owner, "uid") ?? ""));
  });
}
