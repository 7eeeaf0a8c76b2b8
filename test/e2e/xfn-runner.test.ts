import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { RunOptions } from "@xfn/runner-grpc";
import { describe, expect, test, vi } from "vitest";
import { rawCall } from "../../packages/runner-grpc/testing/raw-call.ts";
import { makeCertificates } from "../harness/certificates.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { describeXfnRunner, failureOf, scrape, sh, TOKEN, xfnRunner } from "../harness/runner-program.ts";
import { abstractAddress, clientOf, startRunnerServer } from "../harness/runner-server.ts";
import { SHELL } from "../harness/shell-function.ts";
import { startTraceCollector } from "../harness/trace-collector.ts";

// The program xfn-runner: real sockets, real containers.

describeXfnRunner((shared) => {
  describe("serve", () => {
    test("runs a call over a path socket, logs one line without its content, and counts it", async () => {
      await using server = await startRunnerServer(shared.workspace, ["--address", shared.socket]);
      using client = clientOf({ endpoint: shared.socket });
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
      const tokenFile = await shared.workspace.write("token", `${TOKEN}\n`, { mode: 0o600 });
      await using server = await startRunnerServer(shared.workspace, [
        "--address",
        endpoint,
        "--token-file",
        tokenFile,
      ]);
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
        const { code, stderr } = await xfnRunner(shared.workspace, ["serve", "--address", address]);
        expect(code).toBe(2);
        expect(stderr).toContain("--token-file");
        expect(stderr).toContain("--insecure-no-auth");
      }
    });

    test("rejects requests beyond the operator's maxima", async () => {
      const maxima = ["--max-timeout", "120s", "--max-memory", "64Mi", "--max-cpu", "500m"];
      await using server = await startRunnerServer(shared.workspace, [
        "--address",
        shared.socket,
        ...maxima,
        "--allow-unlimited",
      ]);
      using client = clientOf({ endpoint: shared.socket });
      const asks: [RunOptions, string][] = [
        [{ timeoutMs: 120_001 }, "120 s"],
        [{ memoryBytes: 64 * 1024 ** 2 + 1 }, String(64 * 1024 ** 2)],
        [{ cpus: 0.501 }, "0.5 cores"],
        [{ network: "Accessible" }, "--allow-network"],
      ];
      for (const [options, named] of asks) {
        const error = await failureOf(sh(client, "echo in", options));
        expect(error).toMatchObject({ code: "PermissionDenied", status: "PERMISSION_DENIED", retryable: false });
        expect(error.message).toContain(named);
      }
      expect(await sh(client, "echo in", { timeoutMs: 120_000 })).toBe("in\n");
      expect(server.log().filter(({ code }) => code === "PermissionDenied")).toHaveLength(asks.length);
    });

    test("a call without a timeout gets the maximum", async () => {
      await using _server = await startRunnerServer(shared.workspace, [
        "--address",
        shared.socket,
        "--max-timeout",
        "300ms",
      ]);
      using client = clientOf({ endpoint: shared.socket });
      expect((await failureOf(sh(client, "sleep 60"))).code).toBe("Timeout");
    });

    test("rejects images that are not allowed, in every spelling", async () => {
      const layout = `oci:${shared.workspace.path("layout")}`;
      await using server = await startRunnerServer(shared.workspace, [
        "--address",
        shared.socket,
        "--allow-image",
        SHELL,
      ]);
      using client = clientOf({ endpoint: shared.socket });
      const run = (image: string): Promise<Uint8Array> => client.run(image, Buffer.from("echo in\n"));
      const spellings = ["busybox", "docker.io/library/busybox", "index.docker.io/busybox", "BUSYBOX.example:5000/x"];
      for (const image of [...spellings, "docker.io/test/shell-2", "docker.io/test/shellx", layout]) {
        expect(await failureOf(run(image)), image).toMatchObject({ code: "PermissionDenied" });
      }
      expect(Buffer.from(await run(SHELL)).toString()).toBe("in\n");
      expect(server.log().filter(({ code }) => code === "PermissionDenied")).toHaveLength(7);
    });

    test("accepts layouts on path sockets, elsewhere only with --allow-oci-layouts", async () => {
      const built = await shared.workspace.xfn([
        "build",
        shared.workspace.path("shell"),
        "-t",
        "x",
        "-o",
        `oci:${shared.workspace.path("oci")}`,
      ]);
      expect(built.code, built.stderr).toBe(0);
      const image = `oci:${shared.workspace.path("oci")}`;
      const endpoint = abstractAddress();
      const tokenFile = await shared.workspace.write("token", `${TOKEN}\n`, { mode: 0o600 });
      const args = ["--address", shared.socket, "--address", endpoint, "--token-file", tokenFile];
      const input = Buffer.from("echo in\n");
      {
        await using _server = await startRunnerServer(shared.workspace, args);
        using near = clientOf({ endpoint: shared.socket });
        using far = clientOf({ endpoint, tokenFile });
        expect(Buffer.from(await near.run(image, input)).toString()).toBe("in\n");
        expect(await failureOf(far.run(image, input))).toMatchObject({ code: "PermissionDenied" });
        expect(await failureOf(near.run("oci:oci", input))).toMatchObject({ code: "InvalidRequest" });
      }
      await using _server = await startRunnerServer(shared.workspace, [...args, "--allow-oci-layouts"]);
      using far = clientOf({ endpoint, tokenFile });
      expect(Buffer.from(await far.run(image, input)).toString()).toBe("in\n");
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
      const { code, stdout, stderr } = await xfnRunner(shared.workspace, args, { env });
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
      const other = shared.workspace.path("other.sock");
      const env = { XFN_RUNNER_ADDRESS: `unix:${other}, ${abstractAddress()}`, XFN_RUNNER_MAX_TIMEOUT: "1s" };
      await using server = await startRunnerServer(shared.workspace, ["--address", shared.socket], { env });
      expect(server.addresses).toEqual([shared.socket]);
      using client = clientOf({ endpoint: shared.socket });
      expect((await failureOf(sh(client, "echo in", { timeoutMs: 2000 }))).message).toContain("1 s");
    });

    test("a second runner on the same socket exits with an error", async () => {
      await using _server = await startRunnerServer(shared.workspace, ["--address", shared.socket]);
      const { code, stderr } = await xfnRunner(shared.workspace, [
        "serve",
        "--address",
        shared.socket,
        "--metrics-address",
        "off",
      ]);
      expect(code).toBe(1);
      expect(stderr).toContain("another process listens on");
      using client = clientOf({ endpoint: shared.socket });
      expect(await sh(client, "echo in")).toBe("in\n");
    });

    test("logs a sample of refused calls, and their number", async () => {
      await using server = await startRunnerServer(shared.workspace, [
        "--address",
        shared.socket,
        "--log-format",
        "json",
        "--allow-image",
        "registry.example.org/none",
      ]);
      using client = clientOf({ endpoint: shared.socket });
      const calls = 60;
      for (let call = 0; call < calls; call++)
        expect((await failureOf(sh(client, "echo in"))).code).toBe("PermissionDenied");
      server.started.child.kill("SIGTERM");
      await server.started.finished;
      const lines = server.log().filter(({ code, msg }) => code === "PermissionDenied" && msg === "call").length;
      const omitted = server
        .log()
        .flatMap((line) => (line["msg"] === "more calls refused" ? [Number(line["omitted"])] : []));
      expect(lines).toBeLessThan(calls);
      expect(lines + omitted.reduce((sum, count) => sum + count, 0)).toBe(calls);
    });

    test("callers can neither forge log lines nor control the terminal", async () => {
      await using server = await startRunnerServer(shared.workspace, [
        "--address",
        shared.socket,
        "--log-format",
        "json",
      ]);
      using client = clientOf({ endpoint: shared.socket });
      await sh(client, "echo in", { step: 'a"}\n{"level":"info"\u202e\u0085\u001b[2J' });
      await server.logged(({ msg }) => msg === "call");
      const text = server.started.stderr();
      expect(text).not.toMatch(/[\u202e\u0085\u001b]/);
      expect(server.log().filter(({ msg }) => msg === "call")).toHaveLength(1);
    });

    test("docs/reference/metrics.md lists each metric, and no other", async () => {
      await using server = await startRunnerServer(shared.workspace, ["--address", shared.socket]);
      const text = await (await fetch(`${server.http}/metrics`)).text();
      const served = [...text.matchAll(/^# TYPE (xfn_runner_\w+)/gm)].map(([, name]) => name);
      const page = readFileSync(join(CHECKOUT, "docs/reference/metrics.md"), "utf8");
      expect([...new Set(page.match(/xfn_runner_\w+/g))].toSorted()).toEqual(served.toSorted());
    });

    test("an idle runner needs less than 90 MB", async () => {
      await using server = await startRunnerServer(shared.workspace, ["--address", shared.socket]);
      const memoryMb = (): number => {
        const status = readFileSync(`/proc/${server.started.child.pid}/status`, "utf8");
        return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1000;
      };
      // The runner frees the memory of its startup after some seconds.
      await vi.waitFor(() => expect(memoryMb()).toBeLessThan(90), { timeout: 30_000, interval: 500 });
    });

    test("exports the spans of a call to a collector, in the caller's trace", async () => {
      await using collector = await startTraceCollector();
      const trace = randomBytes(16).toString("hex");
      const parent = randomBytes(8).toString("hex");
      {
        const args = ["--address", "127.0.0.1:0", "--insecure-no-auth", "--otel-endpoint", collector.url];
        await using server = await startRunnerServer(shared.workspace, args);
        await callWith({ traceparent: `00-${trace}-${parent}-01` }, server.addresses[0] ?? "", SHELL, "echo in\n");
        await server.logged(({ msg }) => msg === "call");
      }
      const spans = collector.spans();
      const call = spans.find(({ name }) => name === "RunFunction");
      expect(call).toMatchObject({ service: "xfn-runner", traceId: trace, parentSpanId: parent });
      const phases = spans.filter(({ parentSpanId }) => parentSpanId === call?.spanId);
      expect(phases.map(({ name }) => name)).toEqual(expect.arrayContaining(["pull", "start", "run"]));
    });
  });

  describe("over TCP", needs("openssl"), () => {
    test("admits callers with a certificate of the CA, and rejects callers without one", async () => {
      const certificates = await makeCertificates(shared.workspace);
      const args = ["--tls-cert", certificates.cert, "--tls-key", certificates.key, "--tls-client-ca", certificates.ca];
      await using server = await startRunnerServer(shared.workspace, ["--address", "127.0.0.1:0", ...args]);
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
      expect(await xfnRunner(shared.workspace, health)).toMatchObject({ code: 0 });
    });
  });
});

/** Makes a call with any headers, as a client in another language could. */
async function callWith(headers: Record<string, string>, address: string, image: string, input: string): Promise<void> {
  const field = (number: number, text: string): Buffer =>
    Buffer.concat([Buffer.from([(number << 3) | 2, Buffer.byteLength(text)]), Buffer.from(text)]);
  const path = "/apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService/RunFunction";
  await rawCall(address, path, Buffer.concat([field(1, image), field(2, input)]), headers);
}
