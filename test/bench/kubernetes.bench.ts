import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startApiServer } from "../harness/api-server.ts";
import { which } from "../harness/which.ts";
import { interleave, median, report } from "./figure.ts";

const execute = promisify(execFile);
const COUNT = 1_000;
const CONCURRENCY = 20;
const RUNS = 5;

/** 1,000 server-side applies, 20 at a time, with our client and, where there is Go to build it, with Go's. Each in a process of its own. */
export async function run(): Promise<void> {
  await using server = await startApiServer();
  await server.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "bench" } });
  let round = 0;
  const measure = async (program: string, ...first: string[]): Promise<number> => {
    const args = [server.admin.kubeconfig, "bench", `r${round++}`, String(COUNT), String(CONCURRENCY)];
    const { stdout } = await execute(program, [...first, ...args]);
    return (JSON.parse(stdout) as { seconds: number }).seconds * 1000;
  };
  const ours = (): Promise<number> => measure(process.execPath, here("kubernetes-child.ts"));
  const go = which("go");
  if (go === undefined) {
    console.error("bench: no Go on this machine, so nothing to compare with");
    await ours();
    const times: number[] = [];
    for (let at = 0; at < RUNS; at++) times.push(await ours());
    report({ name: "kubernetes/apply", value: median(times), unit: "ms", runs: RUNS });
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), "kubernetes-peer-"));
  try {
    const peer = join(folder, "peer");
    await execute(go, ["build", "-o", peer, "."], { cwd: here("kubernetes-peer") });
    const times = await interleave(RUNS, ours, () => measure(peer));
    report({
      name: "kubernetes/apply",
      value: times.ours,
      unit: "ms",
      runs: RUNS,
      peer: { name: "client-go 0.34", value: times.peer },
      ratio: times.ratio,
      // 0.9 of its speed.
      goal: 1 / 0.9,
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

function here(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
