import { chmodSync, cpSync, mkdirSync, mkdtempSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Image, openStore } from "@xfn/oci-rootfs";
import { sandboxOwner } from "@xfn/runner";
import { type BareCrun, bareCrun } from "./bare-crun.ts";
import { median, report, timed } from "./figure.ts";
import { build, writeHello } from "./hello.ts";
import { podman } from "./podman.ts";
import { type BenchServer, childrenOf, memoryOf, startServer } from "./runner-server.ts";

// XFN_BENCH_RUNS shortens the benchmark; figures in docs/contributing/benchmarks.md use the default.
const runs = Number(process.env["XFN_BENCH_RUNS"] ?? 60);

const busybox = "/bin/busybox";

const input = Buffer.from(
  JSON.stringify({
    apiVersion: "apiextensions.crossplane.io/v1alpha1",
    kind: "FunctionIO",
    observed: {
      composite: { resource: { apiVersion: "example.org/v1", kind: "XHello", metadata: { name: "hello" } } },
    },
  }),
);

/** A call to measure against bare `crun run`, with the highest allowed ratio. */
interface Contender {
  name: string;
  server: BenchServer;
  goals: { busybox: number; node: number };
}

// The pause after each call, until its pre-started replacement waits for input. It is the same for all contenders:
// after a longer pause a call takes longer, because less of its data is in the processor's caches.
const settleMs = { busybox: 60, node: 250 };

// Megabytes in and out, each with the highest allowed ratio.
const largeGoals = [
  [1, 1.2],
  [10, 2],
  [50, 2.5],
] as const;

const warmUps = { busybox: 300, node: 20 };

/** A call through the gRPC client, against bare `crun run` of the same bundle with a writable root filesystem. */
export async function run(): Promise<void> {
  const cache = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  chmodSync(cache, 0o755);
  const environment = { ...process.env, XDG_CACHE_HOME: cache };
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(cache, { recursive: true }));
  const echo = join(cache, "echo");
  mkdirSync(echo);
  // busybox as cat: a static program of 2 MB that copies stdin to stdout.
  cpSync(busybox, join(echo, "cat"));
  build(echo, "bench/busybox", environment);
  build(writeHello(cache), "bench/node", environment);
  const images = join(cache, "xfn");
  const store = await openStore({ dir: images, owner: sandboxOwner() });

  const server = async (...args: string[]): Promise<BenchServer> =>
    stack.use(await startServer(images, ["--max-concurrent", "8", ...args]));
  const plain = await server("--warm-pool", "off");
  const readOnly = await server("--warm-pool", "off", "--read-only-root");
  const ahead = await server();
  const aheadReadOnly = await server("--read-only-root");
  const contenders: Contender[] = [
    { name: "straight", server: plain, goals: { busybox: 1.25, node: 1.15 } },
    { name: "straight-read-only", server: readOnly, goals: { busybox: 1.1, node: 1.1 } },
    { name: "early", server: ahead, goals: { busybox: 0.4, node: 0.3 } },
    { name: "early-read-only", server: aheadReadOnly, goals: { busybox: 0.4, node: 0.3 } },
  ];

  for (const name of ["busybox", "node"] as const) {
    const image = await store.image(`bench/${name}`);
    await using bare = await disposable(image, input);
    await warmCalls(name, contenders, bare);
    await podmanCalls(name, image, bare);
    await sustained(name, [plain, ahead], bare);
    if (name === "node") await pipeline([contenders[0], contenders[2]] as Contender[], bare);
  }
  const image = await store.image("bench/busybox");
  for (const [megabytes, goal] of largeGoals) await large(megabytes, goal, image, plain);
  memory(ahead);
  report({
    name: "runner/time-to-ready",
    unit: "ms",
    runs: contenders.length,
    value: median(contenders.map((contender) => contender.server.readyMs)),
  });
}

async function warmCalls(name: "busybox" | "node", contenders: readonly Contender[], bare: BareCrun): Promise<void> {
  const call = ({ server }: Contender): Promise<number> => timed(() => server.client.run(`bench/${name}`, input));
  const times = new Map(contenders.map((contender) => [contender, [] as number[]]));
  const peer: number[] = [];
  // Warm up the server: afterwards its code is compiled and its root filesystems are prepared.
  for (const contender of contenders) await many(contender.server, name, warmUps[name], 2);
  await bare.run();
  await sleep(500);
  for (let round = 0; round < runs; round++) {
    // Rotate the order, so that each contender equally often pays for the clean-up of the one before.
    const row = [undefined, ...contenders];
    const turn = round % row.length;
    for (const contender of [...row.slice(turn), ...row.slice(0, turn)]) {
      if (contender === undefined) peer.push(await bare.run());
      else times.get(contender)?.push(await call(contender));
      await sleep(settleMs[name]);
    }
  }
  for (const contender of contenders) {
    const ours = times.get(contender) as number[];
    report({
      name: `runner/${contender.name}/${name}`,
      unit: "ms",
      runs,
      value: median(ours),
      peer: { name: "bare crun run", value: median(peer) },
      ratio: median(ours.map((value, round) => value / (peer[round] as number))),
      goal: contender.goals[name],
    });
  }
}

async function sustained(name: "busybox" | "node", servers: readonly BenchServer[], bare: BareCrun): Promise<void> {
  const rounds = Math.max(2, Math.round(runs / 5));
  for (const atATime of [1, 2, 4, 8]) {
    const calls = (name === "busybox" ? 96 : 32) / (runs < 30 ? 2 : 1);
    const rates = servers.map(() => [] as number[]);
    const peer: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const row = [...servers.keys(), -1];
      const turn = round % row.length;
      for (const index of [...row.slice(turn), ...row.slice(0, turn)]) {
        const server = servers[index];
        const ms = server === undefined ? await bare.runMany(calls, atATime) : await many(server, name, calls, atATime);
        (rates[index] ?? peer).push((calls / ms) * 1000);
        await sleep(100);
      }
    }
    for (const [index, how] of ["straight", "early"].entries()) {
      const ours = rates[index] as number[];
      report({
        name: `runner/sustained-${how}/${name}-${atATime}`,
        unit: "calls/s",
        runs: rounds,
        value: median(ours),
        peer: { name: "bare crun run", value: median(peer) },
        ratio: median(ours.map((value, round) => value / (peer[round] as number))),
        goal: 0.8,
        atLeast: true,
      });
    }
  }
}

/** Measures so many calls, so many at a time, in milliseconds. */
function many({ client }: BenchServer, name: string, calls: number, atATime: number): Promise<number> {
  const caller = async (): Promise<void> => {
    for (let call = 0; call < calls / atATime; call++) await client.run(`bench/${name}`, input);
  };
  return timed(() => Promise.all(Array.from({ length: atATime }, caller)));
}

/** Three functions, each with the output of the one before as its input. */
async function pipeline(contenders: readonly Contender[], bare: BareCrun): Promise<void> {
  const steps = 3;
  const rounds = Math.max(5, Math.round(runs / 2));
  for (const { name, server } of contenders) {
    const ours: number[] = [];
    const peer: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const call = async (): Promise<void> => {
        let io: Uint8Array = input;
        for (let step = 0; step < steps; step++) io = await server.client.run("bench/node", io);
      };
      if (round % 2 === 0) ours.push(await timed(call));
      peer.push(await bare.runMany(steps, 1));
      if (round % 2 === 1) ours.push(await timed(call));
      await sleep(settleMs.node);
    }
    report({
      name: `runner/pipeline-of-3-${name}/node`,
      unit: "ms",
      runs: rounds,
      value: median(ours),
      peer: { name: "bare crun run", value: median(peer) },
      ratio: median(ours.map((value, round) => value / (peer[round] as number))),
    });
  }
}

async function large(megabytes: number, goal: number, image: Image, server: BenchServer): Promise<void> {
  const rounds = Math.max(5, Math.round(runs / 3));
  const bytes = Buffer.alloc(megabytes * 1_000_000, "x");
  await using bare = await disposable(image, bytes);
  const ours: number[] = [];
  const peer: number[] = [];
  const call = (): Promise<number> => timed(() => server.client.run("bench/busybox", bytes));
  await call();
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) ours.push(await call());
    peer.push(await bare.run());
    if (round % 2 === 1) ours.push(await call());
  }
  report({
    name: `runner/straight/busybox-${megabytes}MB`,
    unit: "ms",
    runs: rounds,
    value: median(ours),
    peer: { name: "bare crun run", value: median(peer) },
    ratio: median(ours.map((value, round) => value / (peer[round] as number))),
    goal,
  });
}

async function podmanCalls(name: string, image: Image, bare: BareCrun): Promise<void> {
  await using peer = await podman(image, input);
  if (peer === undefined) return;
  const rounds = Math.max(5, Math.round(runs / 5));
  const theirs: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const time = await peer.run();
    theirs.push(time);
    ratios.push(time / (await bare.run()));
  }
  report({ name: `runner/podman-run/${name}`, unit: "ms", runs: rounds, value: median(theirs), ratio: median(ratios) });
}

function memory(server: BenchServer): void {
  const reportMemory = (name: string, pid: number | string, goal?: number): void => {
    const { resident, proportional } = memoryOf(pid);
    report({
      name: `runner/memory/${name}`,
      unit: "MB",
      runs: 1,
      value: resident,
      ...(goal === undefined ? {} : { goal }),
    });
    report({ name: `runner/memory/${name}-proportional`, unit: "MB", runs: 1, value: proportional });
  };
  reportMemory("server", server.pid, 90);
  reportMemory("sandbox-host", server.hostPid);
  // The waiting functions. A loaded runtime is in the sandbox host's own namespace.
  const mounts = (pid: number | string): string => readlinkSync(`/proc/${pid}/ns/mnt`);
  const functions = childrenOf(server.hostPid).filter((pid) => mounts(pid) !== mounts(server.hostPid));
  const waiting = functions.map((pid) => memoryOf(pid).proportional);
  if (waiting.length === 0) return;
  const [least, most] = [Math.min(...waiting), Math.max(...waiting)];
  report({ name: "runner/memory/waiting-busybox", unit: "MB", runs: waiting.length, value: least });
  report({ name: "runner/memory/waiting-node", unit: "MB", runs: waiting.length, value: most });
}

async function disposable(image: Image, bytes: Uint8Array): Promise<BareCrun & AsyncDisposable> {
  const bare = await bareCrun(image, bytes);
  return { ...bare, [Symbol.asyncDispose]: () => bare.close() };
}
