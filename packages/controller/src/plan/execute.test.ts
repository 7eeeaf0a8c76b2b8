import { ApiError, type Client, type LiveObject, type WriteOptions } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import type { Action } from "./action.ts";
import { execute, requireFound } from "./execute.ts";
import { firstFailure } from "./outcome.ts";
import type { Stage } from "./plan.ts";

const object = (name: string, resourceVersion = "1"): LiveObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, uid: `uid-${name}`, resourceVersion },
});
const on = (name: string): Action["on"] => ({ apiVersion: "v1", kind: "ConfigMap", name });
const common = { as: "own", manager: "m", why: "a test" } as const;
const applied = (name: string, guard: "none" | "uid" | "version" = "uid"): Action => ({
  ...common,
  do: "apply",
  on: on(name),
  intent: { apiVersion: "v1", kind: "ConfigMap", metadata: { name } },
  seen: object(name),
  guard,
});
const patched = (name: string): Action => ({
  ...common,
  do: "patch",
  on: on(name),
  body: { metadata: { labels: { a: "b" } } },
  seen: object(name),
  guard: "version",
});
const deleted = (name: string): Action => ({
  ...common,
  do: "delete",
  on: on(name),
  seen: object(name),
  guard: "version",
});
const confirmed = (name: string): Action => ({ ...common, do: "confirm", on: on(name), seen: object(name) });

/** A server that refuses writes of some objects, and the requests that it received. */
function server(refused: Readonly<Record<string, ApiError["code"]>> = {}): { client: Client; requests: unknown[] } {
  const requests: unknown[] = [];
  const answer = async (verb: string, name: string, sent: unknown): Promise<LiveObject> => {
    requests.push([verb, name, sent]);
    const code = refused[name];
    if (code !== undefined) throw new ApiError(code, `${name}: ${code}`);
    return object(name, "2");
  };
  const client = {
    apply: ({ metadata }: LiveObject) => answer("apply", metadata.name, metadata),
    patch: ({ name }: { name: string }, _: string, { metadata }: LiveObject) => answer("patch", name, metadata),
    delete: ({ name }: { name: string }, { preconditions }: { preconditions: object }) =>
      answer("delete", name, preconditions),
    get: ({ name }: { name: string }) => answer("get", name, undefined),
  } as unknown as Client;
  return { client, requests };
}

async function run(
  stages: readonly Stage[],
  { client }: { client: Client },
): Promise<{ results: string[]; error: string | undefined }> {
  const outcome = await execute({ stages }, { actors: { own: { client } }, signal: new AbortController().signal });
  const results = [...outcome.results].map(([action, { is }]) => `${action.do} ${action.on.name}: ${is}`);
  return { results, error: firstFailure(outcome)?.error.code };
}

test("a guard requires the UID, or the version too, of the object that was seen", async () => {
  const { requests, ...rest } = server();
  const actions = [applied("a", "none"), applied("b", "uid"), applied("c", "version"), deleted("d")];
  await run([{ name: "all", actions, onFailure: "stop" }], rest);
  expect(requests).toEqual([
    ["apply", "a", { name: "a" }],
    ["apply", "b", { name: "b", uid: "uid-b" }],
    ["apply", "c", { name: "c", uid: "uid-c", resourceVersion: "1" }],
    ["delete", "d", { uid: "uid-d", resourceVersion: "1" }],
  ]);
});

test("an apply without force leaves fields to other managers, and an update sends the whole object", async () => {
  const sent: unknown[] = [];
  const client = {
    apply: async (_: unknown, { force }: { force?: boolean }) => (sent.push(force), object("a")),
    update: async (whole: LiveObject) => (sent.push(whole), whole),
  } as unknown as Client;
  const apply = applied("a") as Action & { do: "apply" };
  const update: Action = { ...common, on: on("b"), do: "update", object: object("b") };
  const actions: Action[] = [apply, { ...apply, force: false }, update];
  await execute(
    { stages: [{ name: "all", actions, onFailure: "stop" }] },
    { actors: { own: { client } }, signal: new AbortController().signal },
  );
  expect(sent).toEqual([undefined, false, object("b")]);
});

test("a second write of an object requires the version that the first one left", async () => {
  const { requests, ...rest } = server();
  await run([{ name: "all", actions: [patched("a"), applied("a", "version")], onFailure: "stop" }], rest);
  expect(requests[1]).toEqual(["apply", "a", { name: "a", uid: "uid-a", resourceVersion: "2" }]);
});

test("a stage with lanes has as many writes at a time, and a failure begins no other", async () => {
  const { client, requests } = server({ a: "Invalid" });
  const actions = ["a", "b", "c"].map((name) => applied(name, "none"));
  const { results } = await run([{ name: "all", actions, onFailure: "stop", lanes: 2 }], { client });
  expect(requests).toHaveLength(2);
  expect(results).toEqual(["apply a: failed", "apply b: done", "apply c: skipped"]);
});

test("a failure that stops skips all that follows", async () => {
  const actions = [applied("a"), applied("b")];
  const stages: Stage[] = [
    { name: "first", actions, onFailure: "stop" },
    { name: "second", actions: [deleted("c")], onFailure: "collect" },
  ];
  expect(await run(stages, server({ a: "Invalid" }))).toEqual({
    results: ["apply a: failed", "apply b: skipped", "delete c: skipped"],
    error: "Invalid",
  });
});

test("a failure that is collected skips later writes of its object, and stages that need that there is none", async () => {
  const stages: Stage[] = [
    { name: "apply", actions: [patched("a"), applied("a"), applied("b")], onFailure: "collect" },
    { name: "delete", actions: [deleted("c")], onFailure: "collect", needs: "no failure" },
  ];
  expect(await run(stages, server({ a: "Forbidden" }))).toEqual({
    results: ["patch a: failed", "apply a: skipped", "apply b: done", "delete c: skipped"],
    error: "Forbidden",
  });
});

test("an object that is gone is deleted already", async () => {
  const stages: Stage[] = [{ name: "delete", actions: [deleted("a"), deleted("b")], onFailure: "stop" }];
  expect(await run(stages, server({ a: "NotFound" }))).toEqual({
    results: ["delete a: gone", "delete b: done"],
    error: undefined,
  });
});

test("a plan can require that the objects to patch exist", async () => {
  const { client } = server({ a: "NotFound" });
  const plan = { stages: [{ name: "patch", actions: [patched("a"), patched("b")], onFailure: "stop" }] } as const;
  const execution = { actors: { own: { client } }, signal: new AbortController().signal };
  expect((await execute(plan, execution)).results.size).toBe(2);
  await expect(execute(plan, { ...execution, onResult: requireFound })).rejects.toThrow("ConfigMap a no longer exists");
});

test("a conflict is reported before other failures", async () => {
  const stages: Stage[] = [{ name: "delete", actions: [deleted("a"), deleted("b")], onFailure: "collect" }];
  expect((await run(stages, server({ a: "Forbidden", b: "Conflict" }))).error).toBe("Conflict");
});

test.each(["NotFound", undefined] as const)(
  "a confirmation of an object that is not as seen is a conflict: %s",
  async (code) => {
    const stages: Stage[] = [{ name: "confirm", actions: [confirmed("a"), deleted("b")], onFailure: "stop" }];
    expect(await run(stages, server(code === undefined ? {} : { a: code }))).toEqual({
      results: ["confirm a: failed", "delete b: skipped"],
      error: "Conflict",
    });
  },
);

test("an error that is not a response of the server is thrown", async () => {
  const client = { apply: () => Promise.reject(new TypeError("a defect")) } as unknown as Client;
  const stages: Stage[] = [{ name: "apply", actions: [applied("a")], onFailure: "collect" }];
  await expect(run(stages, { client })).rejects.toThrow("a defect");
});

test("a dry run marks every write as one, and deletes nothing", async () => {
  const sent: unknown[] = [];
  const client = {
    apply: async (_: unknown, { dryRun }: WriteOptions) => (sent.push(["apply", dryRun]), object("a")),
    patch: async (_: unknown, __: unknown, ___: unknown, { dryRun }: WriteOptions) => (
      sent.push(["patch", dryRun]), object("b")
    ),
    delete: () => sent.push("delete"),
  } as unknown as Client;
  const stages: Stage[] = [{ name: "all", actions: [applied("a"), patched("b"), deleted("c")], onFailure: "stop" }];
  const execution = { actors: { own: { client } }, signal: new AbortController().signal, dryRun: true };
  const { results } = await execute({ stages }, execution);
  expect(sent).toEqual([
    ["apply", true],
    ["patch", true],
  ]);
  expect([...results.values()].map(({ is }) => is)).toEqual(["done", "done", "done"]);
});
