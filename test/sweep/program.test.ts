import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { LiveObject } from "@xfn/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { needs } from "../harness/needs.ts";
import { isOf, violations } from "./history.ts";
import { NAMESPACE, XTHINGS } from "./kinds.ts";
import { objectsAt } from "./objects.ts";
import { openPlace, type SweepPlace } from "./place.ts";
import { type Random, random } from "./random.ts";
import type { Actor } from "./scenario.ts";
import { all, composition, configMap, named, remove } from "./scenarios/make.ts";
import { differences, type Snapshot, snapshot } from "./snapshot.ts";

// The program itself, ended by the kernel, stopped and woken, and cut off from its API server: the same is to come of it as of
// one that nobody disturbed.

const COMPOSITES = 6;
const SETTLE_MS = 60_000;
const QUIET_MS = 300;
/** What each XR is composed of. */
const RESOURCES = ["a", "b", "c"];

describe("xfn-controller", needs("api-server"), () => {
  let place: SweepPlace;
  let expected: { made: Snapshot; left: Snapshot };
  let runs = 0;

  const begin = (): Actor => {
    const { client } = place;
    const apply: Actor["apply"] = async (...objects) => {
      for (const object of objects) await client.apply(object, { fieldManager: "person" });
    };
    return { id: `p${(++runs).toString().padStart(4, "0")}`, client, apply };
  };
  const controller = (...args: readonly string[]): Promise<RunningController> =>
    startController(place.server.admin.kubeconfig, { args: ["--skip-crds", ...args] });
  const ours = (actor: Actor): LiveObject[] => place.history.all().filter((object) => isOf(object, actor.id));
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
  // Only the Composition, its revision and secrets of nobody are to stay.
  const isGone = (actor: Actor): boolean =>
    ours(actor).every(({ kind }) => kind === "Composition" || kind === "CompositionRevision");
  const until = async (what: () => boolean): Promise<void> => {
    for (const end = Date.now() + SETTLE_MS; !what(); await sleep(20))
      if (Date.now() > end) throw new Error("it did not come about");
  };
  // What was begun comes to its end.
  const quiet = async (actor: Actor): Promise<void> => {
    for (let seen = -1; seen !== place.history.of(actor.id).length; await sleep(QUIET_MS))
      seen = place.history.of(actor.id).length;
  };
  const look = (actor: Actor): Snapshot => snapshot(ours(actor), actor.id);
  const tell = async (disturbed: (actor: Actor, done: () => boolean) => Promise<void>): Promise<typeof expected> => {
    const actor = begin();
    await make(actor);
    await disturbed(actor, () => isMade(actor));
    await quiet(actor);
    const made = look(actor);
    await unmake(actor);
    await disturbed(actor, () => isGone(actor));
    await quiet(actor);
    const left = look(actor);
    expect(violations(place.history.of(actor.id))).toEqual([]);
    place.history.forget(actor.id);
    return { made, left };
  };

  beforeAll(async () => {
    place = await openPlace();
    await using _undisturbed = await controller();
    expected = await tell((_, done) => until(done));
  });
  afterAll(async () => {
    await place[Symbol.asyncDispose]();
  });

  const expectTheSame = (found: typeof expected): void => {
    expect(differences(expected.made, found.made)).toEqual([]);
    expect(differences(expected.left, found.left)).toEqual([]);
  };

  test("killed again and again comes to the same as one that nobody killed", async () => {
    const seed = randomInt(2 ** 31);
    const next: Random = random(seed);
    const killed = async (actor: Actor, done: () => boolean): Promise<void> => {
      for (let times = 0; times < 3 && !done(); times++) {
        const running = await controller();
        const seen = place.history.of(actor.id).length;
        const enough = seen + 1 + Math.floor(next() * 12);
        await until(() => place.history.of(actor.id).length >= enough || done());
        await running.end("SIGKILL");
      }
      await using _last = await controller();
      await until(done);
    };
    try {
      expectTheSame(await tell(killed));
    } catch (error) {
      throw new Error(`with the seed ${seed}`, { cause: error });
    }
  });

  test("goes on when the API server is there again", async () => {
    await using _running = await controller();
    expectTheSame(
      await tell(async (_, done) => {
        await sleep(50);
        await place.server.restart();
        await until(done);
      }),
    );
  });

  test("a leader that wakes up after its lease has gone to another one writes nothing any more", async () => {
    const leads = ["--leader-election", "--lease-duration", "5s", "--namespace", "default"];
    // One XR at a time, so that little is under way when it is stopped.
    const first = await controller(...leads, "--concurrency", "1");
    await using second = await startController(place.server.admin.kubeconfig, {
      args: ["--skip-crds", ...leads],
      until: "waiting for the lease",
    });
    let stopped = false;
    const found = await tell(async (actor, done) => {
      if (!stopped) {
        await until(() => place.history.of(actor.id).length > COMPOSITES + 6 || done());
        process.kill(first.pid, "SIGSTOP");
        stopped = true;
      }
      await until(done);
    });
    expectTheSame(found);
    expect(second.log().some(({ msg }) => msg === "ready")).toBe(true);
    // What the other one and the server still have to do with these and with earlier ones.
    let before = -1;
    for (; before !== place.history.of("").length; await sleep(10 * QUIET_MS)) before = place.history.of("").length;
    const state = (): string[] =>
      place.history
        .all()
        .map(({ metadata }) => `${metadata.name} ${metadata.uid}`)
        .sort();
    const settled = state();
    process.kill(first.pid, "SIGCONT");
    expect(await first.ended).toBe(1);
    // What was on its way to the server when it was stopped arrives now, which nobody can prevent: composed resources of one XR at most.
    // Their owner has gone, so that the server takes them away.
    for (let seen = -1; seen !== place.history.of("").length; await sleep(QUIET_MS)) seen = place.history.of("").length;
    await until(() => isDeepStrictEqual(state(), settled));
    const since = place.history.of("").slice(before);
    const late = new Set(since.filter(({ type }) => type === "ADDED").map(({ object }) => object.metadata.uid));
    expect(late.size).toBeLessThanOrEqual(RESOURCES.length);
    expect(since.filter(({ object }) => !late.has(object.metadata.uid))).toEqual([]);
  });
});
