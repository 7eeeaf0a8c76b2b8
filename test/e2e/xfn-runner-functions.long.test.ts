import { FunctionCallError, FunctionClient, type FunctionResponse, type UnaryCaller } from "@xfn/function-grpc";
import { type FunctionCallOptions, PACKAGE_KEY } from "@xfn/runner-grpc";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { rawCall } from "../../packages/runner-grpc/testing/raw-call.ts";
import { buildGoProgram } from "../harness/go-program.ts";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { PATIENCE } from "../harness/patience.ts";
import { REGISTRY_PASSWORD, REGISTRY_USER, startRegistry } from "../harness/registry.ts";
import { clientOf, type RunningServer, startRunnerServer } from "../harness/runner-server.ts";
import { greetingOf, requestFor, servedProcesses } from "../harness/served-functions.ts";
import { Workspace } from "../harness/workspace.ts";

const GO = "test/go-greeting";

describe("xfn-runner serves functions of packages", needs("crun", "go-functions"), () => {
  let workspace: Workspace;
  let state: Before;
  let server: RunningServer;
  beforeAll(async () => {
    workspace = await Workspace.create();
    await buildGrpcImage(workspace, { name: GO, program: buildGoProgram("go-greeting"), env: { GREETING: "Hello" } });
  }, 900_000);
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    state = await before(workspace.root);
    server = await startServer();
  });
  const startServer = async (...flags: string[]): Promise<RunningServer> =>
    await startRunnerServer(workspace, ["--address", `unix:${workspace.path("runner.sock")}`, ...flags]);
  const metric = async (line: string): Promise<number> => {
    const metrics = await (await fetch(`${server.http}/metrics`)).text();
    return Number(
      metrics
        .split("\n")
        .find((each) => each.startsWith(`${line} `))
        ?.slice(line.length),
    );
  };
  afterEach(async () => {
    await server[Symbol.asyncDispose]();
    expect(await leftovers(state)).toEqual([]);
  });

  const call = async (image: string, name: string): Promise<FunctionResponse> => {
    const caller = callerOf(server.addresses[0] ?? "", image);
    return (await new FunctionClient(caller).run(requestFor(name), { timeoutMs: 30_000 })).response;
  };

  test("calls share a server, which ends with the program, and are in the metrics", async () => {
    const names = ["Ada", "Grace", "Katherine"];
    const responses = await Promise.all(names.map((name) => call(GO, name)));
    expect(responses.map(greetingOf)).toEqual(names.map((name) => ({ greeting: `Hello ${name}` })));
    expect(servedProcesses(server.started.child.pid)).toHaveLength(1);
    await server.logged(({ msg, image }) => msg === "call" && image === GO);
    const metrics = await (await fetch(`${server.http}/metrics`)).text();
    expect(metrics).toMatch(/^xfn_runner_calls_total\{code="OK"\} 3$/m);
  });

  test("a crash fails the call with the reason, and the next call gets a new server", async () => {
    expect(greetingOf(await call(GO, "Ada"))).toEqual({ greeting: "Hello Ada" });
    const error = await call(GO, "crash").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(FunctionCallError);
    expect((error as FunctionCallError).message).toContain("exited with code 7");
    expect(greetingOf(await call(GO, "Ada"))).toEqual({ greeting: "Hello Ada" });
  });

  test("calls of one server share its state, and with --fresh-functions none sees what another left", async () => {
    const calls = async (): Promise<unknown[]> => [
      greetingOf(await call(GO, "calls")),
      greetingOf(await call(GO, "calls")),
    ];
    expect(await calls()).toEqual([{ greeting: "Hello 1" }, { greeting: "Hello 2" }]);
    await server[Symbol.asyncDispose]();
    server = await startServer("--fresh-functions");
    expect(await calls()).toEqual([{ greeting: "Hello 1" }, { greeting: "Hello 1" }]);
    await expect.poll(() => servedProcesses(server.started.child.pid)).toEqual([]);
    await expect.poll(() => metric('xfn_runner_servers_ended_total{reason="released"}')).toBe(2);
  });

  test("the starts and ends of servers are in the metrics, and --idle ends those that are not called", async () => {
    await server[Symbol.asyncDispose]();
    server = await startServer("--idle", "50ms");
    await call(GO, "Ada");
    expect(await metric("xfn_runner_servers")).toBe(1);
    await call(GO, "crash").catch(() => undefined);
    await expect.poll(() => metric('xfn_runner_servers_ended_total{reason="exited"}')).toBe(1);
    await call(GO, "Ada");
    expect(await metric('xfn_runner_server_starts_total{outcome="started"}')).toBe(2);
    await expect.poll(() => metric('xfn_runner_servers_ended_total{reason="idle"}'), PATIENCE).toBe(1);
    expect(await metric("xfn_runner_servers")).toBe(0);
    expect(servedProcesses(server.started.child.pid)).toEqual([]);
  });

  test("the stderr of a server during a failed call is in the error", async () => {
    using client = clientOf({ endpoint: server.addresses[0] ?? "" });
    const call = (path: string, message: Uint8Array) => client.callFunction(GO, path, message);
    const run = new FunctionClient({ call }).run(requestFor("fail"), { timeoutMs: 30_000 });
    await expect(run).rejects.toMatchObject({ name: "RunnerGrpcError", stderr: "failing\n" });
  });

  describe("from a registry that asks for credentials", needs("docker-registry"), () => {
    test("pulls with those of the call, which no call without them profits from while it fails", async () => {
      await using registry = await startRegistry({ auth: true });
      const name = `${registry.host}/acme/greeting:v1`;
      const insecure = ["--insecure-registry", registry.host];
      const auth = { username: REGISTRY_USER, password: REGISTRY_PASSWORD };
      const login = {
        auths: { [registry.host]: { auth: Buffer.from(Object.values(auth).join(":")).toString("base64") } },
      };
      await workspace.write("docker/config.json", JSON.stringify(login));
      const env = { DOCKER_CONFIG: workspace.path("docker") };
      expect(await workspace.xfn(["push", GO, name, ...insecure], { env })).toMatchObject({ code: 0 });
      await server[Symbol.asyncDispose]();
      server = await startServer(...insecure, "--cache-dir", workspace.path("empty"));
      using client = clientOf({ endpoint: server.addresses[0] ?? "" });
      const greet = async (options: FunctionCallOptions): Promise<unknown> => {
        const forward = (path: string, message: Uint8Array) => client.callFunction(name, path, message, options);
        const { response } = await new FunctionClient({ call: forward }).run(requestFor("Ada"), { timeoutMs: 30_000 });
        return greetingOf(response);
      };
      const refused = { code: "PullFailed", retryable: false };
      const outcomes = await Promise.allSettled([
        greet({}),
        greet({ auth }),
        greet({ auth: { ...auth, password: "x" } }),
      ]);
      expect(outcomes).toMatchObject([{ reason: refused }, { value: { greeting: "Hello Ada" } }, { reason: refused }]);
      expect(JSON.stringify(server.log())).not.toContain(REGISTRY_PASSWORD);
    });
  });

  test("a server that computes without a call ends, and one that does not stays", async () => {
    await buildGrpcImage(workspace, { name: "test/spins", program: buildGoProgram("go-greeting") });
    await call("test/spins", "spin");
    await call(GO, "Ada");
    await expect.poll(() => metric('xfn_runner_servers_ended_total{reason="busy"}'), PATIENCE).toBe(1);
    expect(await metric("xfn_runner_servers")).toBe(1);
    expect(greetingOf(await call("test/spins", "Ada"))).toEqual({ greeting: " Ada" });
  });

  test("an image that does not exist fails with the reason", async () => {
    const error = await call("oci:/does/not/exist", "Ada").catch((thrown: unknown) => thrown);
    expect((error as FunctionCallError).message).toContain("oci:/does/not/exist");
  });
});

/** Calls a function by a runner, as any gRPC client does. */
function callerOf(address: string, image: string): UnaryCaller {
  return {
    async call(path, message, { timeoutMs }) {
      try {
        return await rawCall(address, path, message, { [PACKAGE_KEY]: image }, Date.now() + timeoutMs);
      } catch (error) {
        const { code, details } = error as { code: number; details: string };
        throw new FunctionCallError("Status", details, { status: code });
      }
    },
  };
}
