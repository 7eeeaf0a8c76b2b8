import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@xfn/functionio";
import {
  type ConnectedClient,
  connect,
  type LiveObject,
  loadKubeconfig,
  type ResourceKind,
  startInformers,
} from "@xfn/kubernetes";
import { buildGoProgram, buildGrpcImage } from "../harness/grpc-function.ts";
import { type PackageCluster, startPackageCluster } from "../harness/package-cluster.ts";
import { countRequests, cpuOf, rssOf } from "./controller-world.ts";
import { interleave, median, report } from "./figure.ts";

// XFN_BENCH_RUNS allows a quick run. The figures in docs/benchmarks.md use the default.
const RUNS = Number(process.env["XFN_BENCH_RUNS"] ?? 3);
const INSTALLED = 20;
const UNUSED = 100;
const COMPOSITES = 200;
const READY_MS = 1_800_000;
/** Long enough for one poll of each object (--poll-interval 1m). */
const STEADY_MS = 65_000;
/** Time for the last status updates, and for the controller to give memory back. */
const SETTLE_MS = 15_000;

const FUNCTIONS = kindOf("pkg.crossplane.io", "Function", "functions");
const GREETINGS = kindOf("bench.example.org", "XGreeting", "xgreetings");
/** What the controller asks for: not the leases and the garbage collector's lists. */
const COUNTED = new Set([
  "functions",
  "functionrevisions",
  "functionruntimes",
  "locks",
  "compositions",
  "compositionrevisions",
  "compositeresourcedefinitions",
  "xgreetings",
  "configmaps",
]);

/**
 * Functions as packages: the time to install them, what they cost while nothing calls them, and XRs through two of them
 * against the same by a template.
 */
export async function run(): Promise<void> {
  await using cluster = await startPackageCluster({
    controller: ["--enable-function-runtimes"],
    access: () => [],
    groups: [GREETINGS.group],
  });
  const access = await loadKubeconfig({ path: cluster.server.admin.kubeconfig });
  const client = await connect({ access, fieldManager: "bench" });
  try {
    await installed(cluster, client);
    await composed(cluster, client);
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
  const before = { rss: rssOf(cluster.controllerPid), processes: descendants() };
  await install(0, UNUSED);
  await sleep(SETTLE_MS);
  const asked = await countRequests(cluster.server, COUNTED);
  await sleep(STEADY_MS);
  const steady = (await countRequests(cluster.server, COUNTED)).all - asked.all;
  const name = `packages/${UNUSED}-unused`;
  report({ name: `${name}/steady-requests`, value: steady, unit: "requests", runs: 1, goal: 0 });
  const grown = rssOf(cluster.controllerPid) - before.rss;
  report({ name: `${name}/memory`, value: grown, unit: "MB", runs: 1, goal: 20 });
  report({ name: `${name}/processes`, value: descendants() - before.processes, unit: "processes", runs: 1, goal: 0 });
}

async function composed(cluster: PackageCluster, client: ConnectedClient): Promise<void> {
  const program = buildGoProgram("go-greeting");
  for (const name of ["first", "second"]) {
    const env = { GREETING: name, NAMESPACE: "default", READY: "yes" };
    await buildGrpcImage(cluster.workspace, { name, program, env });
    await cluster.publish(name, `fns/${name}:v1`);
  }
  await cluster.apply(DEFINITION);
  await cluster.server.kubectl(["wait", "xrd", "--all", "--for=condition=Established", "--timeout=120s"]);
  const step = (name: string): string =>
    `    - { step: ${name}, functionRef: { package: "${cluster.registry.host}/fns/${name}:v1" } }\n`;
  await cluster.apply(compositionOf("functions", `  mode: Pipeline\n  pipeline:\n${step("first")}${step("second")}`));
  await cluster.apply(compositionOf("templates", TEMPLATE));
  const cpu: Record<string, number[]> = { functions: [], templates: [] };
  const measure = async (composition: string): Promise<number> => {
    const xrs = Array.from({ length: COMPOSITES }, (_, index) => ({
      apiVersion: "bench.example.org/v1",
      kind: "XGreeting",
      metadata: { name: `${composition}-${index}` },
      spec: { name: `ada-${index}`, namespace: "default", compositionRef: { name: composition } },
    }));
    client.forgetKinds();
    const before = cpuOf(cluster.controllerPid);
    const ms = await createAll(client, GREETINGS, xrs, "Ready");
    cpu[composition]?.push((cpuOf(cluster.controllerPid) - before) * 1000);
    await cluster.server.kubectl(["delete", "xgreetings", "--all", "--timeout=600s"]);
    return ms;
  };
  const [functions, templates] = ["functions", "templates"].map((one) => () => measure(one));
  if (functions === undefined || templates === undefined) return;
  const { ours: value, peer, ratio } = await interleave(RUNS, functions, templates);
  const name = "the same by a template";
  report({
    name: `packages/${COMPOSITES}-composites`,
    unit: "ms",
    runs: RUNS,
    value,
    peer: { name, value: peer },
    ratio,
    goal: 1.3,
  });
  const [own = [], other = []] = [cpu["functions"], cpu["templates"]];
  report({
    name: `packages/${COMPOSITES}-composites/cpu`,
    unit: "ms",
    runs: RUNS,
    value: median(own),
    peer: { name, value: median(other) },
    ratio: median(own) / median(other),
  });
}

/** Creates objects, 20 at a time. @returns milliseconds until the condition of all is `True` */
async function createAll(
  client: ConnectedClient,
  kind: ResourceKind,
  objects: readonly JsonObject[],
  condition: string,
): Promise<number> {
  const informers = startInformers(client);
  const { informer } = informers.acquire(kind);
  await informer.whenSynced();
  const ready = new Set<string>();
  const all = Promise.withResolvers<void>();
  const look = (object: LiveObject): void => {
    const { conditions } = (object["status"] ?? {}) as { conditions?: readonly JsonObject[] };
    if (conditions?.some(({ type, status }) => type === condition && status === "True"))
      ready.add(object.metadata.name);
    if (ready.size === objects.length) all.resolve();
  };
  informer.subscribe({ added: look, updated: look });
  const limit = setTimeout(() => {
    all.reject(new Error(`only ${ready.size} of ${objects.length} ${kind.plural} became ${condition}`));
  }, READY_MS);
  try {
    const began = performance.now();
    const queue = objects.values();
    const workers = Array.from({ length: 20 }, async () => {
      for (const object of queue) await client.create(object);
    });
    await Promise.all([all.promise, ...workers]);
    return performance.now() - began;
  } finally {
    clearTimeout(limit);
    await informers.stop();
  }
}

/** The number of processes that this one and its children started: those of functions are the runner's. */
function descendants(): number {
  const parents = new Map<number, number>();
  for (const entry of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const fields = readFileSync(`/proc/${entry}/stat`, "utf8")
        .replace(/^.*\) /, "")
        .split(" ");
      parents.set(Number(entry), Number(fields[1]));
    } catch {
      // The process has ended meanwhile.
    }
  }
  const isOurs = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === process.pid || isOurs(parents.get(pid)));
  return [...parents.keys()].filter((pid) => isOurs(parents.get(pid))).length;
}

function tagOf(index: number): string {
  return `unused/function-${index}:v1`;
}

function kindOf(group: string, kind: string, plural: string): ResourceKind {
  return { group, version: "v1", kind, plural, namespaced: false };
}

const DEFINITION = `
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: { name: xgreetings.bench.example.org }
spec:
  group: bench.example.org
  names: { kind: XGreeting, plural: xgreetings }
  versions:
    - name: v1
      served: true
      referenceable: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: { type: object, properties: { name: { type: string }, namespace: { type: string } } }
`;

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
