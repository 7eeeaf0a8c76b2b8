import { setTimeout as sleep } from "node:timers/promises";
import type { Client, LiveObject } from "@xfn/kubernetes";
import type { FunctionRunner } from "@xfn/pipeline";
import type { Write, WriteFault } from "../harness/faulty-client.ts";
import { type History, isOf, violations } from "./history.ts";
import { CRDS, isWatched, NOPS } from "./kinds.ts";
import { type Life, startLife } from "./life.ts";
import { objectsAt, textAt } from "./objects.ts";
import { provide } from "./provider.ts";
import type { Random } from "./random.ts";
import type { Actor, Scenario } from "./scenario.ts";
import { type Snapshot, snapshot } from "./snapshot.ts";

/** What goes wrong in a run. */
export interface Faults {
  /** Asked before each write of the whole run, numbered from 1. */
  faultAt(write: Write): WriteFault | undefined;
  /** In which order things are looked at, and whether a cache stays as it was. Default: in order, and none. */
  readonly disorder?: Random | undefined;
}

/** What came of a run. */
export interface Told {
  /** The objects after each step, when all had settled. */
  readonly snapshots: readonly Snapshot[];
  /** Writes of the controllers, in order. */
  readonly writes: readonly Write[];
  /** What must not be, one line each. */
  readonly problems: readonly string[];
}

/** Where runs happen. */
export interface Place {
  /** That of the history. */
  readonly client: Client;
  /** Of each run another one. */
  readonly runner: () => FunctionRunner;
  readonly history: History;
}

// A scenario settles in five to fifteen looks. A deletion waits for the garbage collector, and a CRD some five seconds until the
// server lets it go, for which a fast machine takes hundreds of looks.
const MAX_SETTLE_MS = 120_000;
const WAIT_MS = 25;
// What the first look saw may have been an older state; after disorder a cache may first have to be begun, in two looks.
const QUIET_LOOKS = 2;
// With as many looks without a write between them, something that fails will go on failing.
const STUCK_PASSES = 12;
// One cache in three stays as it was, in a run with disorder.
const STALE = 1 / 3;

let runs = 0;

/** Tells a scenario once. */
export async function runScenario(scenario: Scenario, place: Place, faults: Faults, asks: boolean): Promise<Told> {
  const id = `r${(++runs).toString(36).padStart(4, "0")}${process.pid.toString(36)}`;
  const { client, history } = place;
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
  const runner = place.runner();
  const late: Life[] = [];
  const veryLate: Life[] = [];
  const begin = (): Life => {
    const earlier = writes.length;
    return startLife({
      client,
      runner,
      isOurs,
      known: history.objects,
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
      if (quiet >= (disorder === undefined ? QUIET_LOOKS : QUIET_LOOKS + 2) && failures.length === 0 && !soon)
        return [];
      if (quiet >= STUCK_PASSES && !soon && !failures.some((failure) => isListedSoon(failure, ours))) return failures;
      // Who waits for the server has no reason to ask it all the time.
      if (quiet > 1 || (written === 0 && !isQuiet)) await sleep(WAIT_MS);
    }
    const last = writes.slice(-5).map(({ verb, object, subresource = "" }) => `${verb} ${object.kind} ${subresource}`);
    problems.push(`not settled after ${MAX_SETTLE_MS / 1000} s; the last writes: ${last.join(", ")}`);
    return [];
  };

  for (const step of scenario.steps) {
    const fromBefore = veryLate.splice(0);
    await step.act(actor);
    let failures = await settle();
    if (late.length + fromBefore.length > 0) {
      for (const dead of [...late.splice(0), ...fromBefore]) await dead.faulty.deliverLate();
      failures = await settle();
    }
    for (const failure of failures)
      if (!(scenario.mayFail?.test(failure) ?? false)) problems.push(`${step.name}: ${failure}`);
    if (asks) await step.expect(actor);
    snapshots.push(snapshot(history.all().filter(isOurs), id));
  }
  const before = writes.length;
  await history.caughtUp();
  await life.informers.refresh();
  await life.pass();
  for (const write of writes.slice(before))
    problems.push(`steady, and yet ${write.verb} of ${write.object.kind} ${write.object.name}`);
  problems.push(...violations(history.of(id)));
  await cleanUp(client, history, isOurs);
  history.forget(id);
  return { snapshots, writes, problems };
}

// What a scenario leaves: another one's controllers do not look at it, but caches and lists would grow.
async function cleanUp(client: Client, history: History, isOurs: (object: LiveObject) => boolean): Promise<void> {
  for (const object of history.all().filter(isOurs)) {
    const { apiVersion, kind, metadata } = object;
    const reference = { apiVersion, kind, name: metadata.name, namespace: metadata.namespace };
    const gone = (): undefined => undefined;
    if (metadata["finalizers"] !== undefined)
      await client.patch(reference, "merge", { metadata: { finalizers: null } }).catch(gone);
    await client.delete(reference).catch(gone);
  }
  await history.caughtUp();
}

/**
 * Whether something failed for a kind that is not served although it has a CRD: a server lists a kind a moment after it has taken
 * the CRD, and a busy one takes longer than {@link STUCK_PASSES} looks.
 */
function isListedSoon(failure: string, objects: readonly LiveObject[]): boolean {
  const kinds = objects.flatMap((object) =>
    object.kind === CRDS.kind ? [textAt(object, "spec", "names", "kind")] : [],
  );
  return kinds.some((kind) => failure.includes(`does not serve kind ${kind} of`));
}

/** Whether the server or its garbage collector still has something to do: an object is being deleted, or its owners are all gone. */
function isUnderWay(objects: readonly LiveObject[]): boolean {
  const uids = new Set(objects.map(({ metadata }) => metadata.uid));
  return objects.some((object) => {
    if (object.metadata["deletionTimestamp"] !== undefined) return true;
    const owners = objectsAt(object, "metadata", "ownerReferences").filter((owner) =>
      isWatched(textAt(owner, "apiVersion"), textAt(owner, "kind")),
    );
    return owners.length > 0 && owners.every((owner) => !uids.has(textAt(owner, "uid") ?? ""));
  });
}
