import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { LiveObject } from "@xfn/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { needs } from "../harness/needs.ts";
import { isOf, violations } from "./history.ts";
import { NAMESPACE, XTHINGS } from "./kinds.ts";
import { manyDefinitions } from "./many-definitions.ts";
import { objectsAt } from "./objects.ts";
import { type Random, random } from "./random.ts";
import type { Actor } from "./scenario.ts";
import { all, composition, configMap, named, remove } from "./scenarios/make.ts";
import { differences, type Snapshot, snapshot } from "./snapshot.ts";
import { openTestbed, type SweepTestbed } from "./testbed.ts";

// The program itself, killed, suspended and resumed, and cut off from its API server: the result must be that of an
// undisturbed run.

const COMPOSITES = 6;
const SETTLE_MS = 60_000;
const QUIET_MS = 300;
/** The composed resources of each XR. */
const RESOURCES = ["a", "b", "c"];

describe("xfn-controller", needs("api-server"), () => {
  let testbed: SweepTestbed;
  let expected: { made: Snapshot; left: Snapshot };
  let runs = 0;

  const begin = (): Actor => {
    const { client } = testbed;
    const apply: Actor["apply"] = async (...objects) => {
      for (const object of objects) await client.apply(object, { fieldManager: "person" });
    };
    return { id: `p${(++runs).toString().padStart(4, "0")}`, client, apply };
  };
  const controller = (...args: readonly string[]): Promise<RunningController> =>
    startController(testbed.server.admin.kubeconfig, { args: ["--skip-crds", ...args] });
  const ours = (actor: Actor): LiveObject[] => testbed.history.all().filter((object) => isOf(object, actor.id));
  const make = async (actor: Actor): Promise<void> => {
    const resources = RESOURCES.map((name) => configMap(name, { kept: "yes" }));
    await actor.apply(composition(actor, { resources }));
    const spec = { namespace: NAMESPACE, size: "small", compositionRef: { name: `${actor.id}-c` } };
    for (let index = 0; index < COMPOSITES; index++) await actor.apply({ ...named(actor, XTHINGS, `x${index}`), spec });
  };
  const unmake = async (actor: Actor): Promise<void> => {
    for (const one of await all(actor, XTHINGS)) await remove(actor, one);
  };
  const isReady = (object: LiveObject): boolean =>
    objectsAt(object, "status", "conditions").some((one) => one["type"] === "Ready" && one["status"] === "True");
  const composites = (actor: Actor): LiveObject[] => ours(actor).filter(({ kind }) => kind === XTHINGS.kind);
  const isMade = (actor: Actor): boolean => composites(actor).length === COMPOSITES && composites(actor).every(isReady);
  // Only the Composition, its revision and Secrets without an owner must remain.
  const isGone = (actor: Actor): boolean =>
    ours(actor).every(({ kind }) => kind === "Composition" || kind === "CompositionRevision");
  const until = async (what: () => boolean): Promise<void> => {
    for (const end = Date.now() + SETTLE_MS; !what(); await sleep(20))
      if (Date.now() > end) throw new Error("it did not come about");
  };
  // Wait until running work has ended.
  const quiet = async (actor: Actor): Promise<void> => {
    const { history } = testbed;
    for (let seen = -1; seen !== history.of(actor.id).length || !(await history.isCurrent()); await sleep(QUIET_MS))
      seen = history.of(actor.id).length;
  };
  const look = (actor: Actor): Snapshot => snapshot(ours(actor), actor.id);
  const runWith = async (disturbed: (actor: Actor, done: () => boolean) => Promise<void>): Promise<typeof expected> => {
    const actor = begin();
    await make(actor);
    await disturbed(actor, () => isMade(actor));
    await quiet(actor);
    const made = look(actor);
    await unmake(actor);
    await disturbed(actor, () => isGone(actor));
    await quiet(actor);
    const left = look(actor);
    expect(violations(testbed.history.of(actor.id))).toEqual([]);
    testbed.history.forget(actor.id);
    return { made, left };
  };

  beforeAll(async () => {
    testbed = await openTestbed();
    await using _undisturbed = await controller();
    expected = await runWith((_, done) => until(done));
  });
  afterAll(async () => {
    await testbed[Symbol.asyncDispose]();
  });

  const expectTheSame = (found: typeof expected): void => {
    expect(differences(expected.made, found.made)).toEqual([]);
    expect(differences(expected.left, found.left)).toEqual([]);
  };

  test("killed again and again has the same result as undisturbed", async () => {
    const seed = randomInt(2 ** 31);
    const next: Random = random(seed);
    const killed = async (actor: Actor, done: () => boolean): Promise<void> => {
      for (let times = 0; times < 3 && !done(); times++) {
        const running = await controller();
        const seen = testbed.history.of(actor.id).length;
        const enough = seen + 1 + Math.floor(next() * 12);
        await until(() => testbed.history.of(actor.id).length >= enough || done());
        await running.end("SIGKILL");
      }
      await using _last = await controller();
      await until(done);
    };
    try {
      expectTheSame(await runWith(killed));
    } catch (error) {
      throw new Error(`with the seed ${seed}`, { cause: error });
    }
  });

  test("continues when the API server is back", async () => {
    await using _running = await controller();
    expectTheSame(
      await runWith(async (_, done) => {
        await sleep(50);
        await testbed.server.restart();
        await until(done);
      }),
    );
  });

  test("over HTTP/1.1, definitions come and go without a warning", async () => {
    // A sample of `npm run sweep -- --definitions 300`.
    const complaints: string[] = [];
    const onComplaint = (line: string): void => void complaints.push(line);
    // A run that fails shows the complaints too.
    await manyDefinitions(testbed.server, { count: 6, onComplaint }).catch((error: unknown) => {
      complaints.push(String(error));
    });
    expect(complaints).toEqual([]);
  });

  test("a leader that resumes after another one has its lease writes nothing", async () => {
    const leads = ["--leader-election", "--lease-duration", "5s", "--namespace", "default"];
    // One XR at a time, so that few writes are in flight when it is suspended.
    const first = await controller(...leads, "--concurrency", "1");
    await using second = await startController(testbed.server.admin.kubeconfig, {
      args: ["--skip-crds", ...leads],
      until: "waiting for the lease",
    });
    let stopped = false;
    const found = await runWith(async (actor, done) => {
      if (!stopped) {
        await until(() => testbed.history.of(actor.id).length > COMPOSITES + 6 || done());
        process.kill(first.pid, "SIGSTOP");
        stopped = true;
      }
      await until(done);
    });
    expectTheSame(found);
    expect(second.log().some(({ msg }) => msg === "ready")).toBe(true);
    // Wait for the other leader and the server.
    let before = -1;
    for (; before !== testbed.history.of("").length; await sleep(10 * QUIET_MS)) before = testbed.history.of("").length;
    const state = (): string[] =>
      testbed.history
        .all()
        .map(({ metadata }) => `${metadata.name} ${metadata.uid}`)
        .sort();
    const settled = state();
    process.kill(first.pid, "SIGCONT");
    expect(await first.ended).toBe(1);
    // It says what it knows, and not that another replica works.
    const lost = first.log().find(({ msg }) => msg === "lost the lease");
    expect(lost?.["error"]).toMatch(/could not be renewed|was acquired by another process/);
    // Writes that were in flight arrive now, which cannot be prevented: composed resources of one XR at most. Their
    // owner is gone, so the server deletes them.
    for (let seen = -1; seen !== testbed.history.of("").length; await sleep(QUIET_MS))
      seen = testbed.history.of("").length;
    await until(() => isDeepStrictEqual(state(), settled));
    const since = testbed.history.of("").slice(before);
    const late = new Set(since.filter(({ type }) => type === "ADDED").map(({ object }) => object.metadata.uid));
    expect(late.size).toBeLessThanOrEqual(RESOURCES.length);
    expect(since.filter(({ object }) => !late.has(object.metadata.uid))).toEqual([]);
  });
});
