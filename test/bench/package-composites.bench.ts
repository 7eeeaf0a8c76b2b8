import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@xfn/json";
import { type ConnectedClient, connect, loadKubeconfig, type ResourceKind } from "@xfn/kubernetes";
import { definitionYaml } from "../harness/definition-yaml.ts";
import { buildGoProgram } from "../harness/go-program.ts";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { type PackageCluster, startPackageCluster } from "../harness/package-cluster.ts";
import { countRequests, cpuOf } from "./controller-world.ts";
import { type CoreCluster, corePeer, startCore } from "./core-functions.ts";
import { createAll } from "./create-all.ts";
import { descendants } from "./descendants.ts";
import { interleave, median, report } from "./figure.ts";

// XFN_BENCH_RUNS allows a quick run. The figures in docs/contributing/benchmarks.md use the default.
const RUNS = Number(process.env["XFN_BENCH_RUNS"] ?? 5);
const COMPOSITES = 200;
/**
 * Time for the reconciles that follow the last write, and for the collection of an idle heap 5 seconds later. A
 * response can be used for a minute. Four bursts take just less, so that the runs after it fall between two of them.
 */
const SETTLE_MS = 12_000;

const GREETINGS: ResourceKind = {
  group: "bench.example.org",
  version: "v1",
  kind: "XGreeting",
  plural: "xgreetings",
  namespaced: false,
};
const COUNTED = new Set(["compositions", "compositionrevisions", "functionruntimes", "xgreetings", "configmaps"]);

/** The cost of one burst of XRs. */
interface Cost {
  readonly ms: number;
  /** Processor time of the controller until all were Ready, in milliseconds. */
  readonly controllerMs: number;
  /** The same of all programs but the benchmark. */
  readonly allMs: number;
}

interface Burst extends Cost {
  /** Calls of functions until all were Ready. */
  readonly calls: number;
  /** Requests to the API server, those after the last XR was Ready included. */
  readonly requests: number;
}

/** The variables of each function. */
const FUNCTIONS = Object.fromEntries(
  ["first", "second"].map((name) => [name, { GREETING: name, NAMESPACE: "default", READY: "yes" }]),
);

/** XRs through two functions in packages, against the same by a template, and against Crossplane's core. */
export async function run(): Promise<void> {
  const program = buildGoProgram("go-greeting");
  const ours = await runOurs(program);
  const core = corePeer();
  if (core === undefined) {
    console.error(
      "bench: without Crossplane's core: XFN_BENCH_FUNCTIONS_PEER and XFN_BENCH_FUNCTIONS_PEER_CRDS name it",
    );
    return;
  }
  await using cluster = await startCore(core, program, FUNCTIONS);
  const theirs = await burstsOfCore(cluster);
  const name = `package-composites/${COMPOSITES}/core`;
  const figure = (what: string, read: (one: Cost) => number): void => {
    const [value, other] = [median(ours.map(read)), median(theirs.map(read))];
    const peer = { name: "Crossplane's core", value: other };
    report({ name: `${name}${what}`, unit: "ms", runs: RUNS, value, peer, ratio: value / other });
  };
  figure("", ({ ms }) => ms);
  figure("/controller-cpu", ({ controllerMs }) => controllerMs);
  figure("/all-cpu", ({ allMs }) => allMs);
}

/** @returns the bursts of XRs with functions, without the first one */
async function runOurs(program: string): Promise<readonly Burst[]> {
  await using cluster = await startPackageCluster({
    // The XRs of a burst stay. Without a poll, they take no part in the next one.
    controller: ["--enable-function-runtimes", "--poll-interval", "1h"],
    access: () => [],
    groups: [GREETINGS.group],
  });
  const access = await loadKubeconfig({ path: cluster.server.admin.kubeconfig });
  const client = await connect({ access, fieldManager: "bench" });
  try {
    return await composed(cluster, client, program);
  } finally {
    await client.close();
  }
}

async function composed(cluster: PackageCluster, client: ConnectedClient, program: string): Promise<readonly Burst[]> {
  for (const [name, env] of Object.entries(FUNCTIONS)) {
    await buildGrpcImage(cluster.workspace, { name, program, env });
    await cluster.publish(name, `fns/${name}:v1`);
  }
  await cluster.apply(DEFINITION);
  await cluster.server.kubectl(["wait", "xrd", "--all", "--for=condition=Established", "--timeout=120s"]);
  const step = (name: string): string =>
    `    - { step: ${name}, functionRef: { package: "${cluster.registry.host}/fns/${name}:v1" } }\n`;
  await cluster.apply(compositionOf("functions", `  mode: Pipeline\n  pipeline:\n${step("first")}${step("second")}`));
  await cluster.apply(compositionOf("templates", TEMPLATE));
  const bursts: Record<"functions" | "templates", Burst[]> = { functions: [], templates: [] };
  let burst = 0;
  const measure = async (composition: "functions" | "templates"): Promise<number> => {
    burst++;
    const xrs = greetings(`${composition}-${burst}`, composition);
    client.forgetKinds();
    const asked = await countRequests(cluster.server, COUNTED);
    const before = await used(cluster);
    const ms = await createAll(client, GREETINGS, xrs, "Ready");
    const after = await used(cluster);
    await sleep(SETTLE_MS);
    bursts[composition].push({
      ms,
      controllerMs: after.controllerMs - before.controllerMs,
      allMs: after.allMs - before.allMs,
      calls: after.calls - before.calls,
      // The benchmark creates each XR, and lists them once.
      requests: (await countRequests(cluster.server, COUNTED)).all - asked.all - COMPOSITES - 1,
    });
    return ms;
  };
  const { ours, peer, ratio } = await interleave(
    RUNS,
    () => measure("functions"),
    () => measure("templates"),
  );
  const name = `package-composites/${COMPOSITES}`;
  const template = (value: number): { name: string; value: number } => ({ name: "the same by a template", value });
  report({ name, unit: "ms", runs: RUNS, value: ours, peer: template(peer), ratio, goal: 1.3 });
  // The first burst of each warms the programs up.
  const [own, other] = [bursts.functions.slice(1), bursts.templates.slice(1)];
  const compare = (figure: string, unit: "ms" | "requests", read: (one: Burst) => number): void => {
    const value = median(own.map(read));
    const theirs = median(other.map(read));
    const ratios = own.map((one, index) => read(one) / read(other[index] ?? one));
    report({ name: `${name}/${figure}`, unit, runs: RUNS, value, peer: template(theirs), ratio: median(ratios) });
  };
  compare("controller-cpu", "ms", ({ controllerMs }) => controllerMs);
  compare("all-cpu", "ms", ({ allMs }) => allMs);
  const calls = median(own.map((one) => one.calls / COMPOSITES));
  report({ name: `${name}/calls-for-an-xr`, unit: "times", runs: RUNS, value: calls });
  compare("requests-for-an-xr", "requests", ({ requests }) => requests / COMPOSITES);
  return own;
}

/** @returns the bursts without the first one */
async function burstsOfCore({ server, controllerPid }: CoreCluster): Promise<readonly Cost[]> {
  await server.kubectl(["apply", "-f", "-"], { input: DEFINITION });
  await server.kubectl(["wait", "xrd", "--all", "--for=condition=Established", "--timeout=120s"]);
  const steps = Object.keys(FUNCTIONS).map((name) => `    - { step: ${name}, functionRef: { name: ${name} } }\n`);
  const content = `  mode: Pipeline\n  pipeline:\n${steps.join("")}`;
  await server.kubectl(["apply", "-f", "-"], { input: compositionOf("functions", content) });
  const client = await connect({
    access: await loadKubeconfig({ path: server.admin.kubeconfig }),
    fieldManager: "bench",
  });
  const bursts: Cost[] = [];
  try {
    for (let burst = 0; burst <= RUNS; burst++) {
      client.forgetKinds();
      const before = processorTimes(controllerPid);
      const ms = await createAll(client, GREETINGS, greetings(`core-${burst}`, "functions"), "Ready");
      const after = processorTimes(controllerPid);
      const controllerMs = after.controllerMs - before.controllerMs;
      bursts.push({ ms, controllerMs, allMs: after.allMs - before.allMs });
      await sleep(SETTLE_MS);
    }
  } finally {
    await client.close();
  }
  return bursts.slice(1);
}

function greetings(prefix: string, composition: string): readonly (JsonObject & { metadata: { name: string } })[] {
  return Array.from({ length: COMPOSITES }, (_, index) => ({
    apiVersion: "bench.example.org/v1",
    kind: "XGreeting",
    metadata: { name: `${prefix}-${index}` },
    spec: { name: `ada-${index}`, namespace: "default", compositionRef: { name: composition } },
  }));
}

async function used({ controllerPid, controllerUrl }: PackageCluster): Promise<Omit<Burst, "ms" | "requests">> {
  const metrics = await (await fetch(`${controllerUrl}/metrics`)).text();
  const calls = metrics.matchAll(/^xfn_controller_function_responses_total\{.*\} (\d+)$/gm);
  return {
    ...processorTimes(controllerPid),
    calls: [...calls].reduce((sum, [, count]) => sum + Number(count), 0),
  };
}

/** Processor time of the controller, and of all programs but the benchmark, in milliseconds. */
function processorTimes(controllerPid: number): Omit<Cost, "ms"> {
  const processes = descendants().filter((pid) => pid !== process.pid);
  return {
    controllerMs: cpuOf(controllerPid) * 1000,
    allMs: processes.reduce((sum, pid) => sum + timeOf(pid), 0),
  };
}

/** Processor time in milliseconds; 0 for a process that has ended. */
function timeOf(pid: number): number {
  try {
    return cpuOf(pid) * 1000;
  } catch {
    return 0;
  }
}

const DEFINITION = definitionYaml("XGreeting", {
  group: "bench.example.org",
  spec: "{ type: object, properties: { name: { type: string }, namespace: { type: string } } }",
});

/** The ConfigMap that the functions compose. */
const TEMPLATE = `  resources:
    - name: greeting
      base: { apiVersion: v1, kind: ConfigMap, data: { greeting: "" } }
      readinessChecks: [{ type: None }]
      patches:
        - { fromFieldPath: spec.namespace, toFieldPath: metadata.namespace }
        - fromFieldPath: spec.name
          toFieldPath: data.greeting
          transforms: [{ type: string, string: { type: Format, fmt: "second %s" } }]
`;

const compositionOf = (name: string, content: string): string => `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: ${name} }
spec:
  compositeTypeRef: { apiVersion: bench.example.org/v1, kind: XGreeting }
${content}`;
