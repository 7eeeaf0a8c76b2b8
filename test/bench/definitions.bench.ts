import { setTimeout as sleep } from "node:timers/promises";
import { compositeCrd } from "@xfn/composition/definition";
import { isObject, type JsonObject } from "@xfn/json";
import { type LiveObject, type ResourceKind, startInformers } from "@xfn/kubernetes";
import { applyWhenServed, cpuOf, isTrue, ours, rssOf, startWorld, until, type World } from "./controller-world.ts";
import { definitionOf, GUARDED, LOCALS, scopedObjects, WIDES } from "./definition-objects.ts";
import { median, report } from "./figure.ts";

// XFN_BENCH_RUNS, XFN_BENCH_XRS and XFN_BENCH_DEFINITIONS allow a quick run. The figures in
// docs/contributing/benchmarks.md use the defaults.
const RUNS = Number(process.env["XFN_BENCH_RUNS"] ?? 5);
const XRS = Number(process.env["XFN_BENCH_XRS"] ?? 200);
const DEFINITIONS = Number(process.env["XFN_BENCH_DEFINITIONS"] ?? 300);
const DEFINITION_KIND: ResourceKind = {
  group: "apiextensions.crossplane.io",
  version: "v1",
  kind: "CompositeResourceDefinition",
  plural: "compositeresourcedefinitions",
  namespaced: false,
};
const CRD_KIND: ResourceKind = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};
const ROLE_KIND: ResourceKind = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
};
const MANY = "many.example.org";
// Long enough for one poll of each definition (--poll-interval 1m).
const STEADY_MS = 60_000;
const SETTLE_MS = 5_000;

/** Measures XRs of other scopes and rights against cluster-scoped ones, then many definitions. */
export async function run(): Promise<void> {
  await scopes();
  await manyDefinitions();
}

/** The cost of one batch of XRs. */
interface Cost {
  readonly allMs: number;
  readonly cpuMs: number;
  readonly requests: number;
}

async function scopes(): Promise<void> {
  console.error(`bench: definitions: ${XRS} XRs of three scopes`);
  await using world = await startWorld(ours());
  for (const object of scopedObjects()) await applyWhenServed(world.client, object);
  await until(() => allEstablished(world, 4));
  const kinds = [WIDES, LOCALS, GUARDED];
  // Warm up, because a controller runs for weeks.
  for (const kind of kinds) await world.create("warm-", 20, kind);
  const costs = new Map<ResourceKind, Cost[]>(kinds.map((kind) => [kind, []]));
  for (let index = 0; index < RUNS; index++) {
    // Each run starts with another kind, so that a drifting machine favours none.
    for (let turn = 0; turn < kinds.length; turn++) {
      const kind = kinds[(index + turn) % kinds.length];
      if (kind !== undefined) costs.get(kind)?.push(await batch(world, kind, `run${index}-`));
    }
  }
  const compare = (name: string, kind: ResourceKind, against: ResourceKind, key: keyof Cost, goal?: number): void => {
    const [mine, other] = [kind, against].map((one) => (costs.get(one) ?? []).map((cost) => cost[key]));
    if (mine === undefined || other === undefined) return;
    report({
      name: `definitions/${name}`,
      value: median(mine),
      unit: key === "requests" ? "requests" : "ms",
      runs: RUNS,
      peer: { name: against.plural, value: median(other) },
      ratio: median(mine.map((value, index) => value / (other[index] ?? Number.NaN))),
      ...(goal !== undefined && { goal }),
    });
  };
  compare("namespaced/all-ready", LOCALS, WIDES, "allMs", 1.05);
  compare("namespaced/cpu", LOCALS, WIDES, "cpuMs");
  compare("impersonated/all-ready", GUARDED, LOCALS, "allMs", 1.1);
  compare("impersonated/cpu", GUARDED, LOCALS, "cpuMs");
  compare("impersonated/requests", GUARDED, LOCALS, "requests", 1.1);
}

async function batch(world: World, kind: ResourceKind, prefix: string): Promise<Cost> {
  const before = await world.requests();
  const cpu = cpuOf(world.controllerPid);
  const { allMs } = await world.create(prefix, XRS, kind);
  const cpuMs = (cpuOf(world.controllerPid) - cpu) * 1000;
  const { all } = await world.requests();
  await sleep(SETTLE_MS);
  return { allMs, cpuMs, requests: all - before.all };
}

async function manyDefinitions(): Promise<void> {
  console.error(`bench: definitions: ${DEFINITIONS} definitions`);
  const alone = await crdsAlone();
  await using world = await startWorld(ours());
  const server = cpuOf(world.serverPid);
  const began = performance.now();
  const before = cpuOf(world.controllerPid);
  const established = watchAll(world, DEFINITION_KIND, areEstablished);
  const granted = watchAll(world, ROLE_KIND, areGranted);
  await applyAll(world, many);
  await established;
  const name = `definitions/${DEFINITIONS}`;
  report({ name: `${name}/established`, value: performance.now() - began, unit: "ms", runs: 1, goal: 20_000 });
  const value = (cpuOf(world.serverPid) - server) * 1000;
  const peer = { name: "CRDs alone", value: alone };
  report({ name: `${name}/established/server-cpu`, value, unit: "ms", runs: 1, peer, ratio: value / alone });
  const own = (cpuOf(world.controllerPid) - before) * 1000;
  report({ name: `${name}/established/cpu`, value: own, unit: "ms", runs: 1 });
  await granted;
  report({ name: `${name}/granted`, value: performance.now() - began, unit: "ms", runs: 1 });
  await sleep(SETTLE_MS);
  const cpu = cpuOf(world.controllerPid);
  await sleep(STEADY_MS);
  const steady = ((cpuOf(world.controllerPid) - cpu) / (STEADY_MS / 1000)) * 100;
  report({ name: `${name}/steady`, value: steady, unit: "% of a core", runs: 1, goal: 1 });
  report({ name: `${name}/rss`, value: rssOf(world.controllerPid), unit: "MB", runs: 1, goal: 250 });
}

/** @returns the processor time in milliseconds that the server needs for the same CRDs without definitions */
async function crdsAlone(): Promise<number> {
  await using world = await startWorld(ours());
  const began = cpuOf(world.serverPid);
  const established = watchAll(world, CRD_KIND, areEstablished);
  await applyAll(world, (number) => {
    const { metadata: _, ...crd } = compositeCrd(many(number));
    return { ...crd, metadata: { name: `many${number}s.${MANY}` } };
  });
  await established;
  return (cpuOf(world.serverPid) - began) * 1000;
}

/** Applies the objects of all numbers, 20 at a time. */
async function applyAll({ client }: World, objectOf: (number: number) => JsonObject): Promise<void> {
  const left = Array.from({ length: DEFINITIONS }, (_, number) => number);
  const workers = Array.from({ length: 20 }, async () => {
    for (let number = left.pop(); number !== undefined; number = left.pop()) await client.apply(objectOf(number));
  });
  await Promise.all(workers);
}

function many(number: number): JsonObject {
  const [kind, plural] = [`Many${number}`, `many${number}s`];
  return definitionOf({ group: MANY, version: "v1", kind, plural, namespaced: true });
}

async function allEstablished(world: World, count: number): Promise<boolean> {
  const { items } = await world.client.list(DEFINITION_KIND);
  return items.length === count && items.every((item) => isTrue(item, "Established"));
}

function areEstablished(items: readonly LiveObject[]): boolean {
  const made = items.filter(({ metadata }) => metadata.name.endsWith(MANY));
  return made.length === DEFINITIONS && made.every((one) => isTrue(one, "Established"));
}

/** Whether Kubernetes' role for viewers has the rules of all definitions. */
function areGranted(roles: readonly LiveObject[]): boolean {
  const rules = roles.find(({ metadata }) => metadata.name === "view")?.["rules"];
  const granted = (Array.isArray(rules) ? rules : []).filter(
    (rule) => isObject(rule) && Array.isArray(rule["apiGroups"]) && rule["apiGroups"].includes(MANY),
  );
  return granted.length === DEFINITIONS;
}

/** Waits by a watch, because lists of hundreds of objects would take the server's processor time. */
async function watchAll(
  { client }: World,
  kind: ResourceKind,
  isDone: (items: readonly LiveObject[]) => boolean,
): Promise<void> {
  const informers = startInformers(client);
  try {
    const { informer } = informers.acquire(kind);
    await informer.whenSynced();
    while (!isDone(informer.cache.list())) await sleep(50);
  } finally {
    await informers.stop();
  }
}
