import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { type ConnectedClient, connect, loadKubeconfig, type ResourceKind } from "@xfn/kubernetes";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { type PackageCluster, startPackageCluster } from "../harness/package-cluster.ts";
import { countRequests, cpuOf, rssOf } from "./controller-world.ts";
import { createAll } from "./create-all.ts";
import { descendants } from "./descendants.ts";
import { median, report } from "./figure.ts";

// XFN_BENCH_RUNS allows a quick run. The figures in docs/contributing/benchmarks.md use the default.
const RUNS = Number(process.env["XFN_BENCH_RUNS"] ?? 3);
const INSTALLED = 20;
const UNUSED = 100;
/** Long enough for one poll of each object (--poll-interval 1m). */
const STEADY_MS = 65_000;
/** Time for the last status updates, and for the controller to give memory back. */
const SETTLE_MS = 15_000;

const FUNCTIONS = kindOf("pkg.crossplane.io", "Function", "functions");
/** The resources that the controller requests, without leases and the lists of the garbage collector. */
const COUNTED = new Set(["functions", "functionrevisions", "functionruntimes", "locks"]);

/** Functions as packages: the time to install them, and what they cost while nothing calls them. */
export async function run(): Promise<void> {
  await using cluster = await startPackageCluster({
    controller: ["--enable-function-runtimes"],
    access: () => [],
    groups: [],
  });
  const access = await loadKubeconfig({ path: cluster.server.admin.kubeconfig });
  const client = await connect({ access, fieldManager: "bench" });
  try {
    await installed(cluster, client);
  } finally {
    await client.close();
  }
}

async function installed(cluster: PackageCluster, client: ConnectedClient): Promise<void> {
  for (let index = 0; index < UNUSED; index++) {
    const packageFile = `apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: { name: function-${index} }\n`;
    await cluster.publish(
      await buildGrpcImage(cluster.workspace, { name: `unused-${index}`, packageFile }),
      tagOf(index),
    );
  }
  const install = async (from: number, to: number): Promise<number> => {
    const functions = Array.from({ length: to - from }, (_, index) => ({
      apiVersion: "pkg.crossplane.io/v1",
      kind: "Function",
      metadata: { name: `unused-${from + index}` },
      spec: { package: `${cluster.registry.host}/${tagOf(from + index)}` },
    }));
    return createAll(client, FUNCTIONS, functions, "Healthy");
  };
  const remove = async (): Promise<void> => {
    await cluster.server.kubectl(["delete", "functions", "--all", "--timeout=300s"]);
    while ((await cluster.get("functionruntimes,functionrevisions", "-o", "name")) !== "") await sleep(200);
  };
  const times: number[] = [];
  const cpu: number[] = [];
  await install(0, 1);
  await remove();
  for (let index = 0; index < RUNS; index++) {
    const before = cpuOf(cluster.controllerPid);
    times.push(await install(0, INSTALLED));
    cpu.push((cpuOf(cluster.controllerPid) - before) * 1000);
    await remove();
  }
  report({ name: `packages/install-${INSTALLED}`, value: median(times), unit: "ms", runs: RUNS, goal: 5_000 });
  report({ name: `packages/install-${INSTALLED}-cpu`, value: median(cpu), unit: "ms", runs: RUNS });
  await sleep(SETTLE_MS);
  const before = { rss: rssOf(cluster.controllerPid), processes: descendants().length };
  await install(0, UNUSED);
  await sleep(SETTLE_MS);
  const asked = await countRequests(cluster.server, COUNTED);
  await sleep(STEADY_MS);
  const steady = (await countRequests(cluster.server, COUNTED)).all - asked.all;
  const name = `packages/${UNUSED}-unused`;
  report({ name: `${name}/steady-requests`, value: steady, unit: "requests", runs: 1, goal: 0 });
  const grown = rssOf(cluster.controllerPid) - before.rss;
  report({ name: `${name}/memory`, value: grown, unit: "MB", runs: 1, goal: 20 });
  report({
    name: `${name}/processes`,
    value: descendants().length - before.processes,
    unit: "processes",
    runs: 1,
    goal: 0,
  });
}

function tagOf(index: number): string {
  return `unused/function-${index}:v1`;
}

function kindOf(group: string, kind: string, plural: string): ResourceKind {
  return { group, version: "v1", kind, plural, namespaced: false };
}
