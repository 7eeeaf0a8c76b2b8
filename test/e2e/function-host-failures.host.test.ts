import { createServer } from "node:net";
import process from "node:process";
import { openStore, type Store } from "@xfn/oci-rootfs";
import { createRunner, type Runner, sandboxOwner } from "@xfn/runner";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { withMoreTime } from "../harness/patience.ts";
import { descendantsOf } from "../harness/processes.ts";
import { buildScriptImage, servedProcesses, servingFailure } from "../harness/served-functions.ts";
import { runnerOf } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";

const LISTEN = "exec /bin/busybox nc -l -p 9443 -e /bin/busybox cat";

describe("an image that is not a working function", needs("crun", "busybox"), () => {
  let workspace: Workspace;
  let state: Before;
  let runner: Runner;
  beforeEach(async () => {
    workspace = await Workspace.create();
    state = await before(workspace.root);
    runner = await runnerOf(workspace);
  });
  afterEach(async () => {
    // The processes of a failed start end with it, not with the runner.
    expect(servedProcesses()).toEqual([]);
    await runner.close();
    expect(await leftovers(state)).toEqual([]);
    await workspace[Symbol.asyncDispose]();
  });

  test("one that never listens is ended after its time, and its output is in the error", async () => {
    const image = await buildScriptImage(workspace, "test/silent", "echo dreaming >&2; sleep 600");
    const error = await withMoreTime(1_000, async (startTimeoutMs) => {
      const failure = await servingFailure(runner.serve(image, { startTimeoutMs, step: "greet" }));
      return failure.stderr === "" ? undefined : failure;
    });
    expect(error).toMatchObject({ code: "Timeout", phase: "start", image, step: "greet", stderr: "dreaming\n" });
    expect(error.message).toContain("9443");
  });

  test.each([
    ["with code 0", "echo stdin: $(cat)", { code: "ServerExited", exitCode: 0, stderr: "stdin:\n" }],
    [
      "with another code",
      "echo cannot listen >&2; exit 3",
      {
        code: "NonZeroExit",
        exitCode: 3,
        stderr: "cannot listen\n",
        message: expect.stringContaining("before it listened on port 9443: cannot listen"),
      },
    ],
    ["because it does not know --insecure", '[ "$1" != --insecure ]', { code: "NonZeroExit", exitCode: 1 }],
  ])("one that exits at once %s fails at once", async (_, script, expected) => {
    const image = await buildScriptImage(workspace, "test/exits", script);
    const error = await servingFailure(runner.serve(image));
    expect(error).toMatchObject({ ...expected, phase: "start", retryable: false });
    expect(error.message).toContain("before it listened");
  });

  test("one that listens late is waited for, and all callers get the same server", async () => {
    const image = await buildScriptImage(workspace, "test/late", `sleep 1; ${LISTEN}`);
    const phases: string[] = [];
    const options = { onPhase: (phase: string) => phases.push(phase) };
    const all = await Promise.all([runner.serve(image, options), runner.serve(image, options)]);
    expect(phases).toEqual(["pull", "start"]);
    expect(servedProcesses()).toHaveLength(1);
    for (const served of all) served.release();
    await runner.close();
  });

  test("a failed start reaches all callers, each with its own step, and the next one tries again", async () => {
    const image = await buildScriptImage(workspace, "test/exits", "exit 3");
    const steps = ["one", "two"];
    const errors = await Promise.all(steps.map((step) => servingFailure(runner.serve(image, { step }))));
    expect(errors.map(({ step }) => step)).toEqual(steps);
    expect((await servingFailure(runner.serve(image))).code).toBe("NonZeroExit");
  });

  test("a cancelled start ends what it has started, unless another caller waits for it", async () => {
    const image = await buildScriptImage(workspace, "test/late", `sleep 1; ${LISTEN}`);
    const aborter = new AbortController();
    const cancelled = servingFailure(runner.serve(image, { signal: aborter.signal }));
    const waits = runner.serve(image);
    await expect.poll(() => servedProcesses()).toHaveLength(1);
    aborter.abort();
    expect((await cancelled).code).toBe("Aborted");
    (await waits).release();
    const another = new AbortController();
    const options = { signal: another.signal, fresh: true };
    const alone = servingFailure(runner.serve(image, options));
    await expect.poll(() => servedProcesses()).toHaveLength(2);
    another.abort();
    expect((await alone).code).toBe("Aborted");
    await expect.poll(() => servedProcesses()).toHaveLength(1);
    await runner.close();
  });

  test("one without an entrypoint, and a package of another kind, are rejected and never started", async () => {
    const none = await buildScriptImage(workspace, "test/none", "", { entrypoint: [] });
    expect(await servingFailure(runner.serve(none))).toMatchObject({ code: "ImageInvalid", retryable: false });
    const packageFile = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: it}\n";
    const provider = await buildScriptImage(workspace, "test/provider", LISTEN, { packageFile });
    const error = await servingFailure(runner.serve(provider));
    expect(error).toMatchObject({ code: "ImageInvalid", retryable: false });
    expect(error.message).toContain("Provider");
  });

  test("an image without package.yaml is served: it may be the runtime of a function", async () => {
    const image = await buildScriptImage(workspace, "test/bare", LISTEN, { packageFile: undefined });
    const served = await runner.serve(image);
    const socket = await served.connect();
    socket.destroy();
    served.release();
    await runner.close();
  });

  test("close() ends servers that are used, and starts that wait", async () => {
    const late = await buildScriptImage(workspace, "test/silent", "sleep 600");
    const listens = await buildScriptImage(workspace, "test/listens", LISTEN);
    const served = await runner.serve(listens);
    const waits = servingFailure(runner.serve(late));
    await expect.poll(() => servedProcesses()).toHaveLength(2);
    await runner.close();
    expect((await waits).code).toBe("Closed");
    expect((await servingFailure(served.connect())).code).toBe("Closed");
    served.release();
    expect((await servingFailure(runner.serve(listens))).code).toBe("Closed");
  });

  test("a start that outlives close() starts no sandbox host again", async () => {
    const image = await buildScriptImage(workspace, "test/listens", LISTEN);
    const owner = sandboxOwner();
    const store = await openStore({ dir: workspace.cache, ...(owner && { owner }) });
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const slow: Store = Object.assign(Object.create(store) as Store, {
      image: async (...call: Parameters<Store["image"]>) => {
        const found = await store.image(...call);
        await opened;
        return found;
      },
    });
    const others = descendantsOf(process.pid);
    const late = createRunner({ store: slow });
    const failing = servingFailure(late.serve(image));
    await expect.poll(() => descendantsOf(process.pid).length).toBeGreaterThan(others.length);
    const closing = late.close();
    await expect.poll(() => descendantsOf(process.pid)).toEqual(others);
    open();
    expect((await failing).code).toBe("Closed");
    await closing;
    expect(descendantsOf(process.pid)).toEqual(others);
  });

  test("the output of a server that writes without end is bounded, and does not block it", async () => {
    const image = await buildScriptImage(
      workspace,
      "test/chatty",
      `head -c 3000000 /dev/zero | tr '\\0' x >&2; ${LISTEN}`,
    );
    const served = await runner.serve(image);
    expect((await served.stderr()).length).toBeLessThan(20_000);
    served.release();
    await runner.close();
  });

  test("Accessible: a program of the machine on port 9443 is never taken for the function", async () => {
    const image = await buildScriptImage(workspace, "test/accessible", LISTEN);
    const other = createServer((socket) => socket.end("another program"));
    await new Promise<void>((resolve) => other.listen(9443, "127.0.0.1", resolve));
    const failing = servingFailure(runner.serve(image, { network: "Accessible", startTimeoutMs: 3_000 }));
    expect(["Timeout", "NonZeroExit"]).toContain((await failing).code);
    await new Promise((resolve) => other.close(resolve));
    const served = await runner.serve(image, { network: "Accessible" });
    const socket = await served.connect();
    socket.write("hello");
    expect(String(await new Promise((resolve) => socket.once("data", resolve)))).toBe("hello");
    socket.destroy();
    served.release();
    await runner.close();
  });
});
