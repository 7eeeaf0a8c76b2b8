import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { FunctionClient, FunctionConnection } from "@xfn/function-grpc";
import type { Runner } from "@xfn/runner";
import { buildGoProgram } from "../harness/go-program.ts";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { requestFor } from "../harness/served-functions.ts";
import { runnerOf } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";
import { interleave, report, timed } from "./figure.ts";
import { renderOfSeven } from "./render-of-seven.ts";

const runs = Number(process.env["XFN_BENCH_RUNS"] ?? 30);
const CALLS = 50;
const image = "bench/go-greeting";
const peerName = "the same server as a process on a unix socket";

/** A function of the Go SDK in a sandbox, against the same program as a plain process, and a render of seven. */
export async function run(): Promise<void> {
  await using workspace = await Workspace.create();
  const program = buildGoProgram("go-greeting");
  await buildGrpcImage(workspace, { name: image, program });
  for (const readOnlyRoot of [false, true]) {
    const runner = await runnerOf(workspace, { readOnlyRoot });
    try {
      const suffix = readOnlyRoot ? "-read-only" : "";
      await warm(runner, program, suffix);
      await cold(runner, program, suffix);
    } finally {
      await runner.close();
    }
  }
  await renderOfSeven(workspace, program);
}

/** A call over an open connection. */
async function warm(runner: Runner, program: string, suffix: string): Promise<void> {
  const served = await runner.serve(image);
  const plain = await startPlain(program);
  const ours = new FunctionClient(new FunctionConnection(await served.connect()));
  const theirs = new FunctionClient(new FunctionConnection(plain.socket));
  const many = async (client: FunctionClient): Promise<number> => (await timed(() => callMany(client))) / CALLS;
  const measure = [() => many(ours), () => many(theirs)] as const;
  await interleave(3, ...measure);
  const { ours: value, peer, ratio } = await interleave(runs, ...measure);
  report({
    name: `functions/warm${suffix}`,
    unit: "ms",
    runs,
    value,
    peer: { name: peerName, value: peer },
    ratio,
    goal: 1.3,
  });
  served.release();
  await plain.stop();
}

async function callMany(client: FunctionClient): Promise<void> {
  for (let call = 0; call < CALLS; call++) await client.run(requestFor("Ada"), { timeoutMs: 20_000 });
}

/** From nothing to the first answer. The image is in the store, and the sandbox host runs. */
async function cold(runner: Runner, program: string, suffix: string): Promise<void> {
  const ours = async (): Promise<number> => {
    const began = performance.now();
    const served = await runner.serve(image, { fresh: true });
    await firstCall(await served.connect());
    const ms = performance.now() - began;
    served.release();
    await sleep(SETTLE_MS);
    return ms;
  };
  const theirs = async (): Promise<number> => {
    const began = performance.now();
    const plain = await startPlain(program);
    await firstCall(plain.socket);
    const ms = performance.now() - began;
    await plain.stop();
    await sleep(SETTLE_MS);
    return ms;
  };
  const { ours: value, peer, ratio } = await interleave(runs, ours, theirs);
  report({
    name: `functions/cold${suffix}`,
    unit: "ms",
    runs,
    value,
    peer: { name: peerName, value: peer },
    ratio,
    goal: 1.5,
  });
}

// The kernel removes a container's namespaces after its end.
const SETTLE_MS = 100;

async function firstCall(socket: Duplex): Promise<void> {
  const connection = new FunctionConnection(socket);
  await new FunctionClient(connection).run(requestFor("Ada"), { timeoutMs: 20_000 });
  connection.close();
}

let started = 0;

async function startPlain(program: string): Promise<{ socket: Socket; stop: () => Promise<void> }> {
  const path = `/tmp/xfn-bench-${process.pid}-${++started}.sock`;
  const child = spawn(program, ["--insecure", "--network", "unix", "--address", path], { stdio: "ignore" });
  const socket = await connected(path, child);
  return {
    socket,
    stop: async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
      rmSync(path, { force: true });
    },
  };
}

/** Connects as soon as the program listens, with the sandbox host's first pause between attempts. */
async function connected(path: string, child: ChildProcess): Promise<Socket> {
  while (child.exitCode === null) {
    const socket = connect(path);
    const opened = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    if (opened) return socket;
    await sleep(2);
  }
  throw new Error(`the program ended with code ${child.exitCode}`);
}
