import { readlinkSync } from "node:fs";
import process from "node:process";
import type { Runner, RunnerOptions, ServeOptions } from "@xfn/runner";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { descriptorsOf, openDescriptors } from "../harness/descriptors.ts";
import { buildGoProgram } from "../harness/go-program.ts";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { childrenOf, processFile } from "../harness/processes.ts";
import { callServed, greetingOf, servedProcesses, servingFailure } from "../harness/served-functions.ts";
import { runnerOf } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";

const GO = "test/go-greeting";

describe("a served function of the Go SDK", needs("crun", "go-functions"), () => {
  let workspace: Workspace;
  let state: Before;
  let runner: Runner;
  beforeAll(async () => {
    workspace = await Workspace.create();
    await buildGrpcImage(workspace, { name: GO, program: buildGoProgram("go-greeting") });
  }, 900_000);
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    state = await before(workspace.root);
    runner = await runnerOf(workspace);
  });
  afterEach(async () => {
    await runner.close();
    expect(await leftovers(state)).toEqual([]);
  });

  const replace = async (options: Omit<RunnerOptions, "store">): Promise<void> => {
    await runner.close();
    runner = await runnerOf(workspace, options);
  };
  const serveAndCall = async (name: string, options: ServeOptions = {}): Promise<unknown> => {
    const served = await runner.serve(GO, options);
    try {
      return greetingOf(await callServed(served, name));
    } finally {
      served.release();
    }
  };

  test("answers, with the environment of its options", async () => {
    expect(await serveAndCall("Ada", { env: { GREETING: "Hello" } })).toEqual({ greeting: "Hello Ada" });
  });

  test("answers with a read-only root, and with a copied one", async () => {
    await replace({ readOnlyRoot: true });
    expect(await serveAndCall("Ada")).toEqual({ greeting: " Ada" });
    await replace({ rootfs: "copy" });
    expect(await serveAndCall("Ada")).toEqual({ greeting: " Ada" });
  });

  test("callers of one image share a server; other options and fresh get another", async () => {
    const all = await Promise.all([
      runner.serve(GO),
      runner.serve(GO),
      runner.serve(GO, { env: { GREETING: "Hi" } }),
      runner.serve(GO, { fresh: true }),
    ]);
    await Promise.all(all.map((served) => callServed(served, "Ada")));
    expect(servedProcesses()).toHaveLength(3);
    all[3]?.release();
    await expect.poll(() => servedProcesses()).toHaveLength(2);
    for (const served of all) served.release();
    const again = await runner.serve(GO);
    expect(servedProcesses()).toHaveLength(2);
    again.release();
  });

  test("an idle server ends after its time", async () => {
    await replace({ serverIdleMs: 100 });
    await serveAndCall("Ada");
    await expect.poll(() => servedProcesses()).toEqual([]);
  });

  test("idle servers beyond the bound of the warm pool end, the least recently used first", async () => {
    await replace({ warmPoolLimits: { count: 2 } });
    for (const GREETING of ["a", "b", "c"]) await serveAndCall("Ada", { env: { GREETING } });
    const greetings = (): string[] =>
      servedProcesses().flatMap((pid) => /GREETING=(\w)/.exec(processFile(pid, "environ"))?.[1] ?? []);
    await expect.poll(() => greetings().toSorted()).toEqual(["b", "c"]);
  });

  test("has a network of its own, no privileges, and the seccomp profile", async () => {
    const [one, two] = await Promise.all([runner.serve(GO), runner.serve(GO, { env: { GREETING: "Hi" } })]);
    expect(await Promise.all([one, two].map(async (served) => greetingOf(await callServed(served, "Ada"))))).toEqual([
      { greeting: " Ada" },
      { greeting: "Hi Ada" },
    ]);
    const processes = servedProcesses();
    const networks = processes.map((pid) => readlinkSync(`/proc/${pid}/ns/net`));
    expect(new Set([...networks, readlinkSync("/proc/self/ns/net")]).size).toBe(3);
    for (const pid of processes) {
      const status = processFile(pid, "status");
      expect(status).toMatch(/^CapEff:\t0{16}$/m);
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
      expect(status).toMatch(/^Seccomp:\t2$/m);
    }
    one.release();
    two.release();
  });

  test("a crash fails the call in progress and names the exit code, and the next caller gets a new server", async () => {
    const served = await runner.serve(GO);
    await expect(callServed(served, "crash")).rejects.toMatchObject({ code: "ConnectionLost" });
    const error = await servingFailure(served.connect());
    expect(error).toMatchObject({ code: "NonZeroExit", exitCode: 7, phase: "run", image: GO });
    expect(error.stderr).toContain("starting");
    expect(await serveAndCall("Ada")).toEqual({ greeting: " Ada" });
    served.release();
  });

  test("after the sandbox host was killed, connecting fails and the next caller gets a new server", async () => {
    const served = await runner.serve(GO);
    for (const pid of childrenOf(process.pid).flatMap(childrenOf)) process.kill(pid, "SIGKILL");
    await expect.poll(() => servedProcesses()).toEqual([]);
    const failure = async (): Promise<string> =>
      await served.connect().then(
        (socket) => String(socket.destroy()),
        (error: { code: string }) => error.code,
      );
    await expect.poll(failure).toBe("Closed");
    expect(await serveAndCall("Ada")).toEqual({ greeting: " Ada" });
    served.release();
  });

  test("many calls and servers leave no descriptor in the runner or the sandbox host", async () => {
    const round = async (): Promise<void> => {
      const served = await runner.serve(GO, { fresh: true });
      for (let count = 0; count < 5; count++) await callServed(served, "Ada");
      served.release();
      await expect.poll(() => servedProcesses()).toEqual([]);
    };
    const counts = (): number[] => {
      const host = childrenOf(process.pid).flatMap(childrenOf)[0] ?? 0;
      return [openDescriptors().length, descriptorsOf(host).length];
    };
    await round();
    await new Promise((resolve) => setTimeout(resolve, 200));
    const before = counts();
    for (let count = 0; count < 5; count++) await round();
    await expect.poll(counts).toEqual(before);
  });
});
