import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { startRegistry } from "../harness/registry.ts";
import { describeXfnRunner, failureOf, scrape, sh, xfnRunner } from "../harness/runner-program.ts";
import { clientOf, startRunnerServer } from "../harness/runner-server.ts";

// Starts, readiness, signals and kills of the program xfn-runner.

describeXfnRunner((shared) => {
  describe("serve", () => {
    test("SIGTERM: the runner finishes the running call, rejects new ones, and exits with code 0", async () => {
      const go = shared.workspace.path("go");
      await using server = await startRunnerServer(shared.workspace, [
        "--address",
        shared.socket,
        "--max-concurrent",
        "2",
      ]);
      using client = clientOf({ endpoint: shared.socket });
      const running = sh(client, "sleep 1; echo done");
      await untilRunning(server.http, 1);
      server.signal("SIGTERM");
      await server.logged(({ msg }) => msg === "stopping");
      expect((await fetch(`${server.http}/readyz`)).status).toBe(503);
      expect((await fetch(`${server.http}/livez`)).status).toBe(200);
      using late = clientOf({ endpoint: shared.socket });
      expect(["Closed", "Unavailable"]).toContain((await failureOf(sh(late, `echo in > ${go}`))).code);
      expect(await running).toBe("done\n");
      expect(await server.started.finished).toMatchObject({ code: 0, signal: null });
      // The program logs the call before its own end.
      expect(server.log().slice(-2)).toMatchObject([{ msg: "call", code: "OK" }, { msg: "stopped" }]);
    });

    test("after the grace period the runner kills the running call, which fails with Closed", async () => {
      await using server = await startRunnerServer(shared.workspace, [
        "--address",
        shared.socket,
        "--shutdown-grace",
        "200ms",
      ]);
      using client = clientOf({ endpoint: shared.socket });
      const running = failureOf(sh(client, "trap '' TERM; sleep 100"));
      await untilRunning(server.http, 1);
      server.signal("SIGTERM");
      expect(await running).toMatchObject({ code: "Closed", retryable: true });
      expect(await server.started.finished).toMatchObject({ code: 0, signal: null });
    });

    test("a second signal kills running calls at once", async () => {
      await using server = await startRunnerServer(shared.workspace, [
        "--address",
        shared.socket,
        "--shutdown-grace",
        "100s",
      ]);
      using client = clientOf({ endpoint: shared.socket });
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
        const args = ["--address", shared.socket, "--insecure-registry", registry, "--shutdown-grace", "100s"];
        await using server = await startRunnerServer(shared.workspace, args);
        using client = clientOf({ endpoint: shared.socket });
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
      const state = await before(shared.workspace.root);
      {
        await using killed = await startRunnerServer(shared.workspace, ["--address", shared.socket]);
        using client = clientOf({ endpoint: shared.socket });
        const running = failureOf(sh(client, "sleep 100", { timeoutMs: 100_000 }));
        await untilRunning(killed.http, 1);
        killed.signal("SIGKILL");
        expect(await running).toMatchObject({ code: "Unavailable" });
        expect(await killed.started.finished).toMatchObject({ signal: "SIGKILL" });
      }
      // Only the socket file remains.
      expect(await leftovers(state)).toEqual([]);
      expect(existsSync(shared.workspace.path("runner.sock"))).toBe(true);
      await using _server = await startRunnerServer(shared.workspace, ["--address", shared.socket]);
      using client = clientOf({ endpoint: shared.socket });
      expect(await sh(client, "echo in")).toBe("in\n");
      expect(readdirSync(shared.workspace.path()).filter((name) => name.startsWith(".xfn"))).toEqual([]);
    });

    test("without a runtime it is live but not ready, reports why, and calls fail with RuntimeMissing", async () => {
      const args = ["--address", shared.socket, "--oci-runtime", "/nonexistent/crun"];
      await using server = await startRunnerServer(shared.workspace, args, { ready: false });
      await server.logged(({ msg }) => msg?.startsWith("not ready") === true);
      expect((await fetch(`${server.http}/livez`)).status).toBe(200);
      const readyz = await fetch(`${server.http}/readyz`);
      expect(readyz.status).toBe(503);
      expect(await readyz.text()).toContain("/nonexistent/crun is not installed");
      expect(await scrape(server.http)).toContain("xfn_runner_ready 0");
      expect(await xfnRunner(shared.workspace, ["healthcheck", "--address", shared.socket])).toMatchObject({ code: 1 });
      using client = clientOf({ endpoint: shared.socket });
      expect(await failureOf(sh(client, "echo in"))).toMatchObject({ code: "RuntimeMissing", retryable: false });
    });

    test("becomes ready when the missing runtime is installed", async () => {
      const runtime = shared.workspace.path("bin", "crun");
      const args = ["--address", shared.socket, "--oci-runtime", runtime];
      await using server = await startRunnerServer(shared.workspace, args, { ready: false });
      await server.logged(({ msg }) => msg?.startsWith("not ready") === true);
      await shared.workspace.write("bin/crun", '#!/bin/sh\nexec crun "$@"\n', { mode: 0o755 });
      await server.logged(({ msg }) => msg === "ready");
      expect(await xfnRunner(shared.workspace, ["healthcheck", "--address", shared.socket])).toMatchObject({
        code: 0,
        stderr: "",
      });
    });

    test("checks its readiness again after a call fails because of the host", async () => {
      const content = '#!/bin/sh\nexec crun "$@"\n';
      const runtime = await shared.workspace.write("lost/crun", content, { mode: 0o755 });
      const args = ["--address", shared.socket, "--oci-runtime", runtime, "--warm-pool", "off"];
      await using server = await startRunnerServer(shared.workspace, args);
      using client = clientOf({ endpoint: shared.socket });
      rmSync(runtime);
      expect(["RuntimeMissing", "StartFailed"]).toContain((await failureOf(sh(client, "echo in"))).code);
      await server.logged(({ msg }) => msg?.startsWith("not ready") === true);
      expect((await fetch(`${server.http}/readyz`)).status).toBe(503);
      await shared.workspace.write("lost/crun", content, { mode: 0o755 });
      const isReady = (): boolean => server.log().filter(({ msg }) => msg === "ready").length === 2;
      await server.logged(isReady);
      expect(await sh(client, "echo in")).toBe("in\n");
    });

    test("keeps serving after the reader of its log exits", async () => {
      await using server = await startRunnerServer(shared.workspace, ["--address", shared.socket]);
      using client = clientOf({ endpoint: shared.socket });
      server.started.child.stderr?.destroy();
      for (let call = 0; call < 3; call++) expect(await sh(client, "echo in")).toBe("in\n");
      expect((await fetch(`${server.http}/livez`)).status).toBe(200);
    });

    test("healthcheck fails without a runner", async () => {
      const { code, stderr } = await xfnRunner(shared.workspace, [
        "healthcheck",
        "--address",
        shared.socket,
        "--timeout",
        "300ms",
      ]);
      expect(code).toBe(1);
      expect(stderr).toContain(`no runner answers at ${shared.socket}`);
      expect(stderr).toMatch(/: start one with xfn-runner serve\n$/);
    });
  });

  describe("with a registry", needs("docker-registry", "skopeo"), () => {
    test("pulls an image once, and only from an allowed repository", async () => {
      await using registry = await startRegistry();
      const layout = `oci:${shared.workspace.path("pushed")}`;
      await shared.workspace.write(
        "pushed-function/function",
        '#!/bin/sh\nread -r script\neval "$script"\n# pushed\n',
        {
          mode: 0o755,
        },
      );
      const built = await shared.workspace.xfn([
        "build",
        shared.workspace.path("pushed-function"),
        "-t",
        "x",
        "-o",
        layout,
      ]);
      expect(built.code, built.stderr).toBe(0);
      for (const name of ["team/fn:v1", "team/fn:v2", "other/fn:v1"]) {
        execFileSync("skopeo", ["copy", "-q", "--dest-tls-verify=false", layout, `docker://${registry.host}/${name}`]);
      }
      const args = ["--address", shared.socket, "--insecure-registry", registry.host, "--warm-pool", "off"];
      const allowed = ["--allow-image", `${registry.host}/team/fn:v1`];
      await using server = await startRunnerServer(shared.workspace, [...args, ...allowed]);
      using client = clientOf({ endpoint: shared.socket });
      const run = (image: string): Promise<Uint8Array> =>
        client.run(`${registry.host}/${image}`, Buffer.from("echo in\n"));
      expect(Buffer.from(await run("team/fn:v1")).toString()).toBe("in\n");
      expect(Buffer.from(await run("team/fn:v1")).toString()).toBe("in\n");
      const digest = String((await server.logged(({ msg }) => msg === "call"))["digest"]);
      // Only the digest selects the image, so an additional allowed tag does not permit it.
      for (const image of ["team/fn:v2", "other/fn:v1", `team/fn:v1@${digest}`, `team/fn@${digest}`]) {
        expect(await failureOf(run(image)), image).toMatchObject({ code: "PermissionDenied" });
      }
      const metrics = await scrape(server.http);
      expect(metrics).toContain('xfn_runner_images_total{outcome="pulled"} 1');
      expect(metrics).toContain('xfn_runner_images_total{outcome="present"} 1');
      expect(metrics).toContain('xfn_runner_starts_total{sandbox="cold"} 2');
    });
  });
});

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
