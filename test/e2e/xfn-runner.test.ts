import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { type RunnerClient, RunnerGrpcError, type RunOptions } from "@xfn/runner-grpc";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT, RUNNER_MAIN } from "../harness/paths.ts";
import { startRegistry } from "../harness/registry.ts";
import { abstractAddress, clientOf, startRunnerServer } from "../harness/runner-server.ts";
import { buildShellFunction, SHELL } from "../harness/shell-function.ts";
import { type As, type Finished, type RunOptions as ProgramOptions, Workspace } from "../harness/workspace.ts";

// The program xfn-runner: real sockets, real containers.

const TOKEN = "a-token-of-more-than-16-characters";

const sh = async (client: RunnerClient, script: string, options: RunOptions = {}): Promise<string> =>
  Buffer.from(await client.run(SHELL, Buffer.from(`${script}\n`), options)).toString("utf8");

async function failureOf(call: Promise<unknown>): Promise<RunnerGrpcError> {
  const error = await call.then(
    (value) => new Error(`it succeeded: ${String(value)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof RunnerGrpcError)) throw error;
  return error;
}

function xfnRunner(workspace: Workspace, args: readonly string[], options: ProgramOptions = {}): Promise<Finished> {
  return workspace.start([process.execPath, RUNNER_MAIN, ...args], options).finished;
}

// Without an ordinary user, only the second suite is skipped.
describe("xfn-runner as self", needs("crun"), () => {
  stories("self");
});
describe("xfn-runner as ordinary-user", needs("crun", "ordinary-user"), () => {
  stories("ordinary-user");
});

function stories(as: As): void {
  let workspace: Workspace;
  let state: Before;
  let socket: string;

  beforeAll(async () => {
    workspace = await Workspace.create({ as });
    await buildShellFunction(workspace);
    socket = `unix:${workspace.path("runner.sock")}`;
  });
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    state = await before(workspace.root);
  });
  afterEach(async () => {
    expect(await leftovers(state)).toEqual([]);
  });

  describe("serve", () => {
    test("runs a call over a path socket, logs one line without its content, and counts it", async () => {
      await using server = await startRunnerServer(workspace, ["--address", socket]);
      using client = clientOf({ endpoint: socket });
      const phases: string[] = [];
      const auth = { username: "ada", password: "secret-of-the-registry" };
      const output = await sh(client, "echo secret-of-the-output; echo secret-of-stderr >&2", {
        step: "first",
        auth,
        onPhase: (phase) => phases.push(phase),
      });
      expect(output).toBe("secret-of-the-output\n");
      expect(phases).toEqual(["pull", "start", "run"]);
      const line = await server.logged(({ msg }) => msg === "call");
      expect(line).toMatchObject({ level: "info", image: SHELL, step: "first", code: "OK", outputBytes: 21 });
      expect(line["digest"]).toMatch(/^sha256:[0-9a-f]{64}$/);
      for (const name of ["totalMs", "queueMs", "pullMs", "startMs", "runMs"]) expect(line[name]).toBeTypeOf("number");
      expect(server.started.stderr()).not.toContain("secret-of");
      const metrics = await scrape(server.http);
      expect(metrics).toContain('xfn_runner_calls_total{code="OK"} 1');
      expect(metrics).toContain('xfn_runner_phase_seconds_count{phase="run"} 1');
      expect(metrics).toContain('xfn_runner_images_total{outcome="present"} 1');
      expect(metrics).toContain("xfn_runner_ready 1");
      expect(metrics.join("\n")).toMatch(/^xfn_runner_build_info\{version="[^"]+",node="v\d+/m);
      expect(metrics.join("\n")).not.toContain(SHELL);
    });

    test("an abstract socket requires the token, and the log does not contain it", async () => {
      const endpoint = abstractAddress();
      const tokenFile = await workspace.write("token", `${TOKEN}\n`, { mode: 0o600 });
      await using server = await startRunnerServer(workspace, ["--address", endpoint, "--token-file", tokenFile]);
      using unauthenticated = clientOf({ endpoint });
      expect((await failureOf(sh(unauthenticated, "echo in"))).code).toBe("Unauthenticated");
      using client = clientOf({ endpoint, tokenFile });
      expect(await sh(client, "echo in")).toBe("in\n");
      expect(await server.logged(({ msg }) => msg === "call refused")).toMatchObject({ code: "Unauthenticated" });
      expect(server.started.stderr()).not.toContain(TOKEN);
      const metrics = await scrape(server.http);
      expect(metrics).toContain('xfn_runner_calls_total{code="Unauthenticated"} 1');
    });

    test("does not listen where functions can reach it unless it has a token or certificates", async () => {
      for (const address of [abstractAddress(), "127.0.0.1:0"]) {
        const { code, stderr } = await xfnRunner(workspace, ["serve", "--address", address]);
        expect(code).toBe(2);
        expect(stderr).toContain("--token-file");
        expect(stderr).toContain("--insecure-no-auth");
      }
    });

    test("rejects requests beyond the operator's maxima", async () => {
      const maxima = ["--max-timeout", "3s", "--max-memory", "64Mi", "--max-cpu", "500m"];
      await using server = await startRunnerServer(workspace, ["--address", socket, ...maxima, "--allow-unlimited"]);
      using client = clientOf({ endpoint: socket });
      const asks: [RunOptions, string][] = [
        [{ timeoutMs: 3001 }, "3 s"],
        [{ memoryBytes: 64 * 1024 ** 2 + 1 }, String(64 * 1024 ** 2)],
        [{ cpus: 0.501 }, "0.5 cores"],
        [{ network: "Accessible" }, "--allow-network"],
      ];
      for (const [options, named] of asks) {
        const error = await failureOf(sh(client, "echo in", options));
        expect(error).toMatchObject({ code: "PermissionDenied", status: "PERMISSION_DENIED", retryable: false });
        expect(error.message).toContain(named);
      }
      expect(await sh(client, "echo in", { timeoutMs: 3000 })).toBe("in\n");
      expect(server.log().filter(({ code }) => code === "PermissionDenied")).toHaveLength(asks.length);
    });

    test("a call without a timeout gets the maximum", async () => {
      await using _server = await startRunnerServer(workspace, ["--address", socket, "--max-timeout", "300ms"]);
      using client = clientOf({ endpoint: socket });
      expect((await failureOf(sh(client, "sleep 60"))).code).toBe("Timeout");
    });

    test("rejects images that are not allowed, in every spelling", async () => {
      const layout = `oci:${workspace.path("layout")}`;
      await using server = await startRunnerServer(workspace, ["--address", socket, "--allow-image", SHELL]);
      using client = clientOf({ endpoint: socket });
      const run = (image: string): Promise<Uint8Array> => client.run(image, Buffer.from("echo in\n"));
      const spellings = ["busybox", "docker.io/library/busybox", "index.docker.io/busybox", "BUSYBOX.example:5000/x"];
      for (const image of [...spellings, "docker.io/test/shell-2", "docker.io/test/shellx", layout]) {
        expect(await failureOf(run(image)), image).toMatchObject({ code: "PermissionDenied" });
      }
      expect(Buffer.from(await run(SHELL)).toString()).toBe("in\n");
      expect(server.log().filter(({ code }) => code === "PermissionDenied")).toHaveLength(7);
    });

    test("accepts layouts on path sockets, elsewhere only with --allow-oci-layouts", async () => {
      const built = await workspace.xfn([
        "build",
        workspace.path("shell"),
        "-t",
        "x",
        "-o",
        `oci:${workspace.path("oci")}`,
      ]);
      expect(built.code, built.stderr).toBe(0);
      const image = `oci:${workspace.path("oci")}`;
      const endpoint = abstractAddress();
      const tokenFile = await workspace.write("token", `${TOKEN}\n`, { mode: 0o600 });
      const args = ["--address", socket, "--address", endpoint, "--token-file", tokenFile];
      const input = Buffer.from("echo in\n");
      {
        await using _server = await startRunnerServer(workspace, args);
        using near = clientOf({ endpoint: socket });
        using far = clientOf({ endpoint, tokenFile });
        expect(Buffer.from(await near.run(image, input)).toString()).toBe("in\n");
        expect(await failureOf(far.run(image, input))).toMatchObject({ code: "PermissionDenied" });
        expect(await failureOf(near.run("oci:oci", input))).toMatchObject({ code: "InvalidRequest" });
      }
      await using _server = await startRunnerServer(workspace, [...args, "--allow-oci-layouts"]);
      using far = clientOf({ endpoint, tokenFile });
      expect(Buffer.from(await far.run(image, input)).toString()).toBe("in\n");
    });

    test("SIGTERM: the runner finishes the running call, rejects new ones, and exits with code 0", async () => {
      const go = workspace.path("go");
      await using server = await startRunnerServer(workspace, ["--address", socket, "--max-concurrent", "2"]);
      using client = clientOf({ endpoint: socket });
      const running = sh(client, "sleep 1; echo done");
      await untilRunning(server.http, 1);
      server.signal("SIGTERM");
      await server.logged(({ msg }) => msg === "stopping");
      expect((await fetch(`${server.http}/readyz`)).status).toBe(503);
      expect((await fetch(`${server.http}/livez`)).status).toBe(200);
      using late = clientOf({ endpoint: socket });
      expect(["Closed", "Unavailable"]).toContain((await failureOf(sh(late, `echo in > ${go}`))).code);
      expect(await running).toBe("done\n");
      expect(await server.started.finished).toMatchObject({ code: 0, signal: null });
      // The program logs the call before its own end.
      expect(server.log().slice(-2)).toMatchObject([{ msg: "call", code: "OK" }, { msg: "stopped" }]);
    });

    test("after the grace period the runner kills the running call, which fails with Closed", async () => {
      await using server = await startRunnerServer(workspace, ["--address", socket, "--shutdown-grace", "200ms"]);
      using client = clientOf({ endpoint: socket });
      const running = failureOf(sh(client, "trap '' TERM; sleep 100"));
      await untilRunning(server.http, 1);
      server.signal("SIGTERM");
      expect(await running).toMatchObject({ code: "Closed", retryable: true });
      expect(await server.started.finished).toMatchObject({ code: 0, signal: null });
    });

    test("a second signal kills running calls at once", async () => {
      await using server = await startRunnerServer(workspace, ["--address", socket, "--shutdown-grace", "100s"]);
      using client = clientOf({ endpoint: socket });
      const running = failureOf(sh(client, "sleep 100", { timeoutMs: 100_000 }));
      await untilRunning(server.http, 1);
      server.signal("SIGINT");
      await server.logged(({ msg }) => msg === "stopping");
      server.signal("SIGINT");
      expect(await running).toMatchObject({ code: "Closed", retryable: true });
      expect(await server.started.finished).toMatchObject({ code: 0, signal: null });
    });

    test("a second signal also ends calls that wait for their image", async () => {
      // This registry accepts requests and never answers.
      const asked = Promise.withResolvers<void>();
      const silent = createServer(() => asked.resolve());
      await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
      try {
        const registry = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
        const args = ["--address", socket, "--insecure-registry", registry, "--shutdown-grace", "100s"];
        await using server = await startRunnerServer(workspace, args);
        using client = clientOf({ endpoint: socket });
        const call = client.run(`${registry}/team/fn:v1`, Buffer.from("echo in\n"), { timeoutMs: 100_000 });
        const failure = failureOf(call);
        await asked.promise;
        server.signal("SIGTERM");
        await server.logged(({ msg }) => msg === "stopping");
        server.signal("SIGTERM");
        // Both hold only if the program stopped by itself and was not killed.
        expect(await failure).toMatchObject({ code: "Closed", retryable: true });
        await server.started.finished;
        expect(await server.logged(({ msg }) => msg === "stopped")).toBeDefined();
        expect(await server.started.finished).toMatchObject({ code: 0, signal: null });
      } finally {
        silent.closeAllConnections();
        await new Promise((resolve) => silent.close(resolve));
      }
    });

    test("a runner that is killed during a call leaves only its socket, which the next runner replaces", async () => {
      {
        await using killed = await startRunnerServer(workspace, ["--address", socket]);
        using client = clientOf({ endpoint: socket });
        const running = failureOf(sh(client, "sleep 100", { timeoutMs: 100_000 }));
        await untilRunning(killed.http, 1);
        killed.signal("SIGKILL");
        expect(await running).toMatchObject({ code: "Unavailable" });
        expect(await killed.started.finished).toMatchObject({ signal: "SIGKILL" });
      }
      // Only the socket file remains.
      expect(await leftovers(state)).toEqual([]);
      expect(existsSync(workspace.path("runner.sock"))).toBe(true);
      await using _server = await startRunnerServer(workspace, ["--address", socket]);
      using client = clientOf({ endpoint: socket });
      expect(await sh(client, "echo in")).toBe("in\n");
      expect(readdirSync(workspace.path()).filter((name) => name.startsWith(".xfn"))).toEqual([]);
    });

    test("without a runtime it is live but not ready, reports why, and calls fail with RuntimeMissing", async () => {
      const args = ["--address", socket, "--oci-runtime", "/nonexistent/crun"];
      await using server = await startRunnerServer(workspace, args, { ready: false });
      await server.logged(({ msg }) => msg?.startsWith("not ready") === true);
      expect((await fetch(`${server.http}/livez`)).status).toBe(200);
      const readyz = await fetch(`${server.http}/readyz`);
      expect(readyz.status).toBe(503);
      expect(await readyz.text()).toContain("/nonexistent/crun is not installed");
      expect(await scrape(server.http)).toContain("xfn_runner_ready 0");
      expect(await xfnRunner(workspace, ["healthcheck", "--address", socket])).toMatchObject({ code: 1 });
      using client = clientOf({ endpoint: socket });
      expect(await failureOf(sh(client, "echo in"))).toMatchObject({ code: "RuntimeMissing", retryable: false });
    });

    test("becomes ready when the missing runtime is installed", async () => {
      const runtime = workspace.path("bin", "crun");
      const args = ["--address", socket, "--oci-runtime", runtime];
      await using server = await startRunnerServer(workspace, args, { ready: false });
      await server.logged(({ msg }) => msg?.startsWith("not ready") === true);
      await workspace.write("bin/crun", '#!/bin/sh\nexec crun "$@"\n', { mode: 0o755 });
      await server.logged(({ msg }) => msg === "ready");
      expect(await xfnRunner(workspace, ["healthcheck", "--address", socket])).toMatchObject({ code: 0, stderr: "" });
    });

    test("checks its readiness again after a call fails because of the host", async () => {
      const content = '#!/bin/sh\nexec crun "$@"\n';
      const runtime = await workspace.write("lost/crun", content, { mode: 0o755 });
      const args = ["--address", socket, "--oci-runtime", runtime, "--warm-pool", "off"];
      await using server = await startRunnerServer(workspace, args);
      using client = clientOf({ endpoint: socket });
      rmSync(runtime);
      expect(["RuntimeMissing", "StartFailed"]).toContain((await failureOf(sh(client, "echo in"))).code);
      await server.logged(({ msg }) => msg?.startsWith("not ready") === true);
      expect((await fetch(`${server.http}/readyz`)).status).toBe(503);
      await workspace.write("lost/crun", content, { mode: 0o755 });
      const isReady = (): boolean => server.log().filter(({ msg }) => msg === "ready").length === 2;
      await server.logged(isReady);
      expect(await sh(client, "echo in")).toBe("in\n");
    });

    test("keeps serving after the reader of its log exits", async () => {
      await using server = await startRunnerServer(workspace, ["--address", socket]);
      using client = clientOf({ endpoint: socket });
      server.started.child.stderr?.destroy();
      for (let call = 0; call < 3; call++) expect(await sh(client, "echo in")).toBe("in\n");
      expect((await fetch(`${server.http}/livez`)).status).toBe(200);
    });

    test("healthcheck fails without a runner", async () => {
      const { code, stderr } = await xfnRunner(workspace, ["healthcheck", "--address", socket, "--timeout", "300ms"]);
      expect(code).toBe(1);
      expect(stderr).toContain(socket);
    });

    test("reports all wrong settings at once, each with its source", async () => {
      const args = [
        "serve",
        "--max-memory",
        "lots",
        "--address",
        "nonsense",
        "--allow-image",
        "A B",
        "--tls-cert",
        "x",
      ];
      const env = { XFN_RUNNER_MAX_CPU: "-1", XFN_RUNNER_LOG_LEVEL: "loud", XFN_RUNNER_MAX_MEMORY: "not read" };
      const { code, stdout, stderr } = await xfnRunner(workspace, args, { env });
      expect(code).toBe(2);
      expect(stdout).toBe("");
      const lines = stderr.trimEnd().split("\n");
      expect(lines.every((line) => line.startsWith("xfn-runner: "))).toBe(true);
      for (const named of [
        '--max-memory: "lots"',
        'XFN_RUNNER_MAX_CPU: "-1"',
        'XFN_RUNNER_LOG_LEVEL: "loud"',
        '"nonsense"',
        '--allow-image: "A B"',
        "--tls-key",
      ]) {
        expect(
          lines.filter((line) => line.includes(named)),
          named,
        ).toHaveLength(1);
      }
      expect(lines).toHaveLength(6);
    });

    test("reads settings from the environment too, and flags override them", async () => {
      const other = workspace.path("other.sock");
      const env = { XFN_RUNNER_ADDRESS: `unix:${other}, ${abstractAddress()}`, XFN_RUNNER_MAX_TIMEOUT: "1s" };
      await using server = await startRunnerServer(workspace, ["--address", socket], { env });
      expect(server.addresses).toEqual([socket]);
      using client = clientOf({ endpoint: socket });
      expect((await failureOf(sh(client, "echo in", { timeoutMs: 2000 }))).message).toContain("1 s");
    });

    test("a second runner on the same socket exits with an error", async () => {
      await using _server = await startRunnerServer(workspace, ["--address", socket]);
      const { code, stderr } = await xfnRunner(workspace, ["serve", "--address", socket, "--metrics-address", "off"]);
      expect(code).toBe(1);
      expect(stderr).toContain("another process listens on");
      using client = clientOf({ endpoint: socket });
      expect(await sh(client, "echo in")).toBe("in\n");
    });

    test("callers can neither forge log lines nor control the terminal", async () => {
      await using server = await startRunnerServer(workspace, ["--address", socket, "--log-format", "json"]);
      using client = clientOf({ endpoint: socket });
      await sh(client, "echo in", { step: 'a"}\n{"level":"info"\u202e\u0085\u001b[2J' });
      await server.logged(({ msg }) => msg === "call");
      const text = server.started.stderr();
      expect(text).not.toMatch(/[\u202e\u0085\u001b]/);
      expect(server.log().filter(({ msg }) => msg === "call")).toHaveLength(1);
    });

    test("docs/runner.md lists each metric, and no other", async () => {
      await using server = await startRunnerServer(workspace, ["--address", socket]);
      const text = await (await fetch(`${server.http}/metrics`)).text();
      const served = [...text.matchAll(/^# TYPE (xfn_runner_\w+)/gm)].map(([, name]) => name);
      const page = readFileSync(join(CHECKOUT, "docs/runner.md"), "utf8");
      expect([...new Set(page.match(/xfn_runner_\w+/g))].toSorted()).toEqual(served.toSorted());
    });

    test("an idle runner needs less than 90 MB", async () => {
      await using server = await startRunnerServer(workspace, ["--address", socket]);
      const memoryMb = (): number => {
        const status = readFileSync(`/proc/${server.started.child.pid}/status`, "utf8");
        return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1000;
      };
      // The runner frees the memory of its startup after some seconds.
      await vi.waitFor(() => expect(memoryMb()).toBeLessThan(90), { timeout: 30_000, interval: 500 });
    });

    test("exports the spans of a call to a collector, in the caller's trace", async () => {
      const bodies: string[] = [];
      const collector = createServer((request, response) => {
        let body = "";
        request.setEncoding("utf8").on("data", (chunk: string) => {
          body += chunk;
        });
        request.on("end", () => {
          bodies.push(`${request.url} ${body}`);
          response.writeHead(200, { "content-type": "application/json" }).end("{}");
        });
      });
      await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
      try {
        const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
        const trace = randomBytes(16).toString("hex");
        const parent = randomBytes(8).toString("hex");
        {
          const args = ["--address", "127.0.0.1:0", "--insecure-no-auth", "--otel-endpoint", url];
          await using server = await startRunnerServer(workspace, args);
          await rawCall(server.addresses[0] ?? "", SHELL, "echo in\n", { traceparent: `00-${trace}-${parent}-01` });
          await server.logged(({ msg }) => msg === "call");
        }
        const sent = bodies.join("\n");
        expect(sent).toContain("/v1/traces ");
        expect(sent).toContain(trace);
        expect(sent).toContain(parent);
        for (const name of ["RunFunction", "pull", "start", "run"]) expect(sent).toContain(`"name":"${name}"`);
      } finally {
        collector.closeAllConnections();
        await new Promise((resolve) => collector.close(resolve));
      }
    });
  });

  describe("over TCP", needs("openssl"), () => {
    test("admits callers with a certificate of the CA, and rejects callers without one", async () => {
      const certificates = await makeCertificates(workspace);
      const args = ["--tls-cert", certificates.cert, "--tls-key", certificates.key, "--tls-client-ca", certificates.ca];
      await using server = await startRunnerServer(workspace, ["--address", "127.0.0.1:0", ...args]);
      const endpoint = server.addresses[0] ?? "";
      const { ca: caFile, cert: certFile, key: keyFile } = certificates;
      using client = clientOf({ endpoint, tls: { caFile, certFile, keyFile } });
      expect(await sh(client, "echo in")).toBe("in\n");
      using unauthenticated = clientOf({ endpoint, tls: { caFile }, marginMs: 0 });
      expect((await failureOf(sh(unauthenticated, "echo in", { timeoutMs: 2000 }))).code).not.toBe("OK");
      expect(server.log().filter(({ msg }) => msg === "call")).toHaveLength(1);
      const health = [
        "healthcheck",
        "--address",
        endpoint,
        "--tls-ca",
        caFile,
        "--tls-cert",
        certFile,
        "--tls-key",
        keyFile,
      ];
      expect(await xfnRunner(workspace, health)).toMatchObject({ code: 0 });
    });
  });

  describe("with a registry", needs("docker-registry", "skopeo"), () => {
    test("pulls an image once, and only from an allowed repository", async () => {
      await using registry = await startRegistry();
      const layout = `oci:${workspace.path("pushed")}`;
      await workspace.write("pushed-function/function", '#!/bin/sh\nread -r script\neval "$script"\n# pushed\n', {
        mode: 0o755,
      });
      const built = await workspace.xfn(["build", workspace.path("pushed-function"), "-t", "x", "-o", layout]);
      expect(built.code, built.stderr).toBe(0);
      for (const name of ["team/fn:v1", "team/fn:v2", "other/fn:v1"]) {
        execFileSync("skopeo", ["copy", "-q", "--dest-tls-verify=false", layout, `docker://${registry.host}/${name}`]);
      }
      const args = ["--address", socket, "--insecure-registry", registry.host, "--warm-pool", "off"];
      const allowed = ["--allow-image", `${registry.host}/team/fn:v1`];
      await using server = await startRunnerServer(workspace, [...args, ...allowed]);
      using client = clientOf({ endpoint: socket });
      const run = (image: string): Promise<Uint8Array> =>
        client.run(`${registry.host}/${image}`, Buffer.from("echo in\n"));
      expect(Buffer.from(await run("team/fn:v1")).toString()).toBe("in\n");
      expect(Buffer.from(await run("team/fn:v1")).toString()).toBe("in\n");
      const digest = String((await server.logged(({ msg }) => msg === "call"))["digest"]);
      // The digest alone selects the image, so an allowed tag beside it does not permit it.
      for (const image of ["team/fn:v2", "other/fn:v1", `team/fn:v1@${digest}`, `team/fn@${digest}`]) {
        expect(await failureOf(run(image)), image).toMatchObject({ code: "PermissionDenied" });
      }
      const metrics = await scrape(server.http);
      expect(metrics).toContain('xfn_runner_images_total{outcome="pulled"} 1');
      expect(metrics).toContain('xfn_runner_images_total{outcome="present"} 1');
      expect(metrics).toContain('xfn_runner_starts_total{sandbox="cold"} 2');
    });
  });

  describe("xfn render --runner", () => {
    const steps = (...endpoints: string[]): string =>
      endpoints
        .map(
          (endpoint, index) => `
    - name: step-${index}
      type: Container
      container: { image: test/forward, timeout: 5s, runner: { endpoint: "${endpoint}" } }`,
        )
        .join("");

    async function write(...endpoints: string[]): Promise<[xr: string, composition: string]> {
      const composition = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: c }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XThing }
  resources:
    - name: made
      base: { apiVersion: v1, kind: ConfigMap, metadata: { name: made } }
  functions:${steps(...endpoints)}
`;
      const xr = "apiVersion: example.org/v1\nkind: XThing\nmetadata: { name: x }\n";
      return [await workspace.write("xr.yaml", xr), await workspace.write("composition.yaml", composition)];
    }

    beforeAll(async () => {
      await workspace.write("forward/function", "#!/bin/sh\necho forwarding >&2\ncat\n", { mode: 0o755 });
      const built = await workspace.xfn(["build", workspace.path("forward"), "-t", "test/forward"]);
      expect(built.code, built.stderr).toBe(0);
    });

    test("runs functions at the endpoint, and prints the same result", async () => {
      const files = await write("unix:/nowhere/a", "unix:/nowhere/b");
      const here = await workspace.xfn(["render", ...files]);
      expect(here).toMatchObject({ code: 0, stdout: expect.stringContaining("kind: ConfigMap") });
      await using server = await startRunnerServer(workspace, ["--address", socket]);
      const there = await workspace.xfn(["render", ...files, "--runner", socket]);
      expect(there).toMatchObject({ code: 0, stdout: here.stdout });
      const calls = server.log().filter(({ msg }) => msg === "call");
      expect(calls.map(({ step, code }) => [step, code])).toEqual([
        ["step-0", "OK"],
        ["step-1", "OK"],
      ]);
    });

    test("runs functions at the endpoints of the Composition, and never sends them a token", async () => {
      const other = `unix:${workspace.path("other.sock")}`;
      const files = await write(socket, other);
      await using one = await startRunnerServer(workspace, ["--address", socket]);
      await using two = await startRunnerServer(workspace, ["--address", other]);
      const rendered = await workspace.xfn(["render", ...files, "--runner", "composition"]);
      expect(rendered.code, rendered.stderr).toBe(0);
      for (const server of [one, two]) expect(server.log().filter(({ msg }) => msg === "call")).toHaveLength(1);
      const tokenFile = await workspace.write("token", `${TOKEN}\n`, { mode: 0o600 });
      const args = ["render", ...files, "--runner", "composition", "--runner-token-file", tokenFile];
      expect(await workspace.xfn(args)).toMatchObject({ code: 2, stdout: "" });
    });

    test("authenticates with a token if the runner requires one", async () => {
      const endpoint = abstractAddress();
      const files = await write("unix:/nowhere");
      const tokenFile = await workspace.write("token", `${TOKEN}\n`, { mode: 0o600 });
      await using _server = await startRunnerServer(workspace, ["--address", endpoint, "--token-file", tokenFile]);
      const out = await workspace.xfn(["render", ...files, "--runner", endpoint]);
      expect(out).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("token") });
      const args = ["render", ...files, "--runner", endpoint, "--runner-token-file", tokenFile];
      expect((await workspace.xfn(args)).code).toBe(0);
    });

    test("an unreachable runner is an error that names it, and nothing is printed", async () => {
      const other = `unix:${workspace.path("other.sock")}`;
      const files = await write(socket, other);
      await using _server = await startRunnerServer(workspace, ["--address", socket]);
      const { code, stdout, stderr } = await workspace.xfn(["render", ...files, "--runner", "composition"]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain("step-1");
      expect(stderr).toContain(other);
    });

    test("flags without effect are usage errors", async () => {
      const files = await write(socket);
      const wrong = [
        ["--runner-token-file", "x"],
        ["--runner", socket, "--registry", "localhost:5000"],
        ["--runner", "nonsense"],
        ["--runner", socket, "--runner-token-file", "/nowhere/token"],
      ];
      for (const flags of wrong) {
        expect(await workspace.xfn(["render", ...files, ...flags]), flags.join(" ")).toMatchObject({
          code: 2,
          stdout: "",
        });
      }
    });
  });

  describe("run", () => {
    test("passes input and output unchanged", async () => {
      const file = await workspace.write("input", "cat\n\u0000any bytes");
      expect(await xfnRunner(workspace, ["run", SHELL, file])).toMatchObject({
        code: 0,
        stdout: "\u0000any bytes",
        stderr: expect.not.stringContaining("error"),
      });
      const historic = [
        "run",
        SHELL,
        "--image-pull-policy=never",
        "--network-policy=Isolated",
        "--map-root-uid=100000",
      ];
      const piped = await xfnRunner(workspace, historic, { input: "echo $((6*7)); echo said >&2\n" });
      expect(piped).toMatchObject({ code: 0, stdout: "42\n" });
      expect(piped.stderr).toContain("function: said");
    });

    test("a failed run exits with code 1 and no output, a usage error with code 2", async () => {
      const failed = await xfnRunner(workspace, ["run", SHELL], { input: "echo half; exit 3\n" });
      expect(failed).toMatchObject({ code: 1, stdout: "" });
      expect(failed.stderr).toContain("code 3");
      const late = await xfnRunner(workspace, ["run", SHELL, "--timeout", "200ms"], { input: "sleep 100\n" });
      expect(late).toMatchObject({ code: 1, stdout: "" });
      const wrong = [
        ["run"],
        ["run", SHELL, "--timeout", "soon"],
        ["run", SHELL, "missing.yaml"],
        ["run", "A B"],
        ["go"],
      ];
      for (const args of wrong) expect((await xfnRunner(workspace, args)).code, args.join(" ")).toBe(2);
    });

    test("an interrupt ends the container and exits with code 130", async () => {
      const marker = workspace.path("marked", "asked");
      const script = `#!/bin/sh\n: >${marker}\nexec crun "$@"\n`;
      const runtime = await workspace.write("marked/crun", script, { mode: 0o755 });
      const args = ["run", SHELL, "--oci-runtime", runtime];
      const { child, finished } = workspace.start([process.execPath, RUNNER_MAIN, ...args], { input: "sleep 100\n" });
      await vi.waitFor(() => expect(existsSync(marker)).toBe(true), { timeout: 30_000 });
      child.kill("SIGINT");
      expect(await finished).toMatchObject({ code: 130, stdout: "" });
    });
  });
}

/** A runner's metrics, without histogram buckets. */
async function scrape(http: string): Promise<string[]> {
  const text = await (await fetch(`${http}/metrics`)).text();
  return text.split("\n").filter((line) => line.startsWith("xfn_runner_") && !line.includes("_bucket{"));
}

async function untilRunning(http: string, count: number): Promise<void> {
  for (;;) {
    const metrics = await scrape(http);
    if (
      metrics.includes(`xfn_runner_running ${count}`) &&
      metrics.includes('xfn_runner_starts_total{sandbox="cold"} 1')
    )
      return;
  }
}

/** Makes a call with any headers over plain HTTP/2, as a client in another language could. */
async function rawCall(address: string, image: string, input: string, headers: Record<string, string>): Promise<void> {
  const field = (number: number, text: string): Buffer =>
    Buffer.concat([Buffer.from([(number << 3) | 2, Buffer.byteLength(text)]), Buffer.from(text)]);
  const message = Buffer.concat([field(1, image), field(2, input)]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  const session = connect(`http://${address}`);
  try {
    const stream = session.request({
      ":method": "POST",
      ":path": "/apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService/RunFunction",
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    stream.end(Buffer.concat([prefix, message]));
    const status = await new Promise((resolve, reject) => {
      stream.on("error", reject);
      stream.on("response", (answer) => {
        if (answer["grpc-status"] !== undefined) resolve(answer["grpc-status"]);
      });
      stream.on("trailers", (trailers) => resolve(trailers["grpc-status"]));
      stream.resume();
    });
    expect(status).toBe("0");
  } finally {
    session.destroy();
  }
}

/** A CA, and one certificate from it for 127.0.0.1, for both ends. */
async function makeCertificates(workspace: Workspace): Promise<{ ca: string; cert: string; key: string }> {
  const path = (name: string): string => workspace.path(`tls-${name}`);
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { stdio: "ignore" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  openssl("req", "-x509", ...key, "-subj", "/CN=test ca", "-keyout", path("ca.key"), "-out", path("ca.crt"));
  openssl("req", ...key.slice(0, -2), "-subj", "/CN=test", "-keyout", path("key"), "-out", path("csr"));
  const extensions = await workspace.write("tls-ext", "subjectAltName=IP:127.0.0.1\n");
  const ca = ["-CA", path("ca.crt"), "-CAkey", path("ca.key"), "-CAcreateserial", "-days", "2"];
  openssl("x509", "-req", "-in", path("csr"), ...ca, "-extfile", extensions, "-out", path("crt"));
  // The tests' user writes the key, and the workspace's user reads it.
  execFileSync("chmod", ["a+r", path("key")]);
  return { ca: path("ca.crt"), cert: path("crt"), key: path("key") };
}
