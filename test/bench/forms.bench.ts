import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { createWebhookCaller } from "@xfn/pipeline/webhook";
import { createLog, readSettings } from "@xfn/program";
import { openInProcessRunner } from "@xfn/runner/in-process";
import { ENGINE_SETTINGS } from "@xfn/runner/settings";
import { makeCertificates } from "../harness/certificates.ts";
import { ask, buildShellFunction, runnerOf, SHELL } from "../harness/shell-function.ts";
import { which } from "../harness/which.ts";
import { Workspace } from "../harness/workspace.ts";
import { interleave, report, timed } from "./figure.ts";
import { largeFunctionIO } from "./functionio.bench.ts";
import { startServer } from "./runner-server.ts";

const runs = Number(process.env["XFN_BENCH_RUNS"] ?? 60);

// Until the next sandbox waits for its input.
const PAUSE_MS = 100;

/** Forms of functions and of runners, each against the plain way to do the same. */
export async function run(): Promise<void> {
  await using workspace = await Workspace.create();
  await webhooks(workspace);
  await buildShellFunction(workspace);
  await inProcess(workspace);
  await gvisor(workspace);
}

/** Calls of a webhook that returns its input, against `fetch` of the same bytes over a kept connection. */
async function webhooks(workspace: Workspace): Promise<void> {
  const files = await makeCertificates(workspace);
  const caBundle = readFileSync(files.ca, "utf8");
  setDefaultCACertificates([...getCACertificates("default"), caBundle]);
  const tls = { cert: readFileSync(files.cert), key: readFileSync(files.key) };
  const server = createServer(tls, (request, response) => {
    const { "content-length": length = "0" } = request.headers;
    response.writeHead(200, { "content-type": "application/json", "content-length": length });
    request.pipe(response);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const caller = createWebhookCaller({ maxOutputBytes: 64 * 1024 * 1024 });
  try {
    for (const [name, megabytes] of [
      ["10kB", 0.01],
      ["1MB", 1],
      ["10MB", 10],
    ] as const) {
      const body = Buffer.from(largeFunctionIO(megabytes));
      const call = async (): Promise<void> => {
        const output = await caller.call(url, body, { step: "bench", caBundle, timeoutMs: 60_000 });
        if (output.length !== body.length) throw new Error("the output of the webhook differs");
      };
      const plain = async (): Promise<void> => {
        const response = await fetch(url, {
          method: "POST",
          body,
          headers: { "content-type": "application/json", "accept-encoding": "identity" },
        });
        if ((await response.arrayBuffer()).byteLength !== body.length) throw new Error("the output of fetch differs");
      };
      for (let count = 0; count < 10; count++) await call().then(plain);
      const { ours, peer, ratio } = await interleave(
        runs,
        () => timed(call),
        () => timed(plain),
      );
      const figure = { unit: "ms", runs, peer: { name: "fetch", value: peer } } as const;
      report({ name: `forms/webhook-${name}`, value: ours, ...figure, ratio });
      if (megabytes < 1) report({ name: `forms/webhook-over-fetch-${name}`, value: ours - peer, ...figure, goal: 1 });
    }
  } finally {
    caller.close();
    server.closeAllConnections();
    server.close();
  }
}

/** Compares warm calls of a runner in this process with those of a runner in another process. */
async function inProcess(workspace: Workspace): Promise<void> {
  const flags = { "cache-dir": workspace.cache, "warm-pool": "1", "allow-unlimited": true };
  const { config, problems } = readSettings(ENGINE_SETTINGS, flags);
  if (problems.length > 0) throw new Error(problems.join("; "));
  const log = createLog({ level: "error", format: "json" });
  const hosted = await openInProcessRunner(config, { log, version: "bench", tracing: undefined });
  const ready = 60_000;
  try {
    await hosted.ready(ready);
    await using beside = await startServer(workspace.cache, ["--warm-pool", "1", "--allow-unlimited"]);
    const input = Buffer.from("echo answer\n");
    const call = async (runner: Pick<typeof hosted, "run">): Promise<number> => {
      const ms = await timed(() => runner.run(SHELL, input));
      await sleep(PAUSE_MS);
      return ms;
    };
    const { ours, peer, ratio } = await interleave(
      runs,
      () => call(hosted),
      () => call(beside.client),
    );
    report({
      name: "forms/in-process",
      unit: "ms",
      runs,
      value: ours,
      peer: { name: "xfn-runner", value: peer },
      ratio,
    });
  } finally {
    await hosted.stop(1000);
  }
}

/** A call in a new container of gVisor, against one of crun. Only root can run it, if it is installed. */
async function gvisor(workspace: Workspace): Promise<void> {
  if (which("runsc") === undefined || process.getuid?.() !== 0) return;
  await using ours = await runnerOf(workspace, { ociRuntime: "runsc" });
  await using theirs = await runnerOf(workspace);
  const rounds = Math.min(runs, 15);
  const result = await interleave(
    rounds,
    () => timed(() => ask(ours, "echo answer")),
    () => timed(() => ask(theirs, "echo answer")),
  );
  const figure = { unit: "ms", runs: rounds, peer: { name: "crun", value: result.peer } } as const;
  report({ name: "forms/gvisor", value: result.ours, ...figure, ratio: result.ratio });
}
