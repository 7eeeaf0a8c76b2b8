import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { get } from "node:https";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { type ApiServer, findBinaries, startApiServer } from "@xfn/dev-cluster";
import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import {
  type ConnectedClient,
  connect,
  type LiveObject,
  loadKubeconfig,
  type ResourceKind,
  startInformers,
} from "@xfn/kubernetes";
import { apiOf, composition, definition, THINGS, thingCrd, XRS, xbench } from "./controller-objects.ts";
import { type Pause, Replicas } from "./controller-replicas.ts";
import { SCOPED_PLURALS, scoped } from "./definition-objects.ts";

const PROGRAM = join(import.meta.dirname, "../../packages/controller/dist/program/main.js");
const LOOP_PAUSES = join(import.meta.dirname, "loop-pauses.ts");

// The controller's work, without the garbage collector's deletes and lists, and without leases and events.
const COUNTED_RESOURCES = new Set([
  "xbenches",
  "things",
  "compositionrevisions",
  "compositions",
  "compositeresourcedefinitions",
  "secrets",
  "configmaps",
  "serviceaccounts",
  "selfsubjectaccessreviews",
  ...SCOPED_PLURALS,
]);
const WRITES = new Set(["POST", "PUT", "PATCH", "APPLY", "DELETE"]);

// 20,000 XRs of three resources take four minutes on two idle cores, and much longer on busy ones.
const READY_MS = 1_800_000;

/** An API server with a definition, a Composition of three templates, and the measured controller. */
export interface World extends AsyncDisposable {
  readonly client: ConnectedClient;
  readonly controllerPid: number;
  readonly serverPid: number;
  /** Creates XRs and waits until all are Ready. @returns milliseconds until the first and until all are Ready */
  create(prefix: string, count: number, kind?: ResourceKind): Promise<{ firstMs: number; allMs: number }>;
  /** Requests to the API server since its start, without watches. */
  requests(): Promise<Requests>;
  /** Ends the controller that reconciles. Its standby takes over, or else a new one starts. */
  restart(): Promise<void>;
  /** The longest pauses of the controllers' event loops since the last call. */
  longestPause(): Pause;
}

export interface Requests {
  readonly all: number;
  readonly writes: number;
}

/** A controller to measure: ours, or a program with the command line of Crossplane's core. */
export interface Contender {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether a second replica waits for the lease. The metrics of both are read. */
  readonly hasStandby?: boolean | undefined;
  /** A folder of CRDs that it requires and does not install. */
  readonly crds?: string | undefined;
}

export function ours(): Contender {
  return {
    name: "xfn",
    command: process.execPath,
    args: ["--import", LOOP_PAUSES, PROGRAM, "start", "--log-level", "warn"],
    env: {},
    hasStandby: true,
  };
}

/**
 * The program `XFN_BENCH_CONTROLLER_PEER`, Crossplane's core (v1.13), with its CRDs in
 * `XFN_BENCH_CONTROLLER_PEER_CRDS`.
 */
export function peer(): Contender | undefined {
  const command = process.env["XFN_BENCH_CONTROLLER_PEER"] ?? "";
  if (command === "") return undefined;
  return {
    name: "crossplane",
    command,
    args: ["core", "start", "--max-reconcile-rate=100", "--sync-interval=1h", "--poll-interval=1m"],
    env: { POD_NAMESPACE: "crossplane-system", POD_SERVICE_ACCOUNT: "crossplane" },
    crds: process.env["XFN_BENCH_CONTROLLER_PEER_CRDS"],
  };
}

export async function startWorld(contender: Contender): Promise<World> {
  const { binaries } = findBinaries();
  if (binaries === undefined) throw new Error("no API server binaries: xfn dev cluster builds them");
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startApiServer({ binaries }));
  const client = await connect({
    access: await loadKubeconfig({ path: server.admin.kubeconfig }),
    fieldManager: "bench",
  });
  stack.defer(() => client.close());
  await client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "crossplane-system" } });
  if (contender.crds !== undefined) await kubectl(server, "apply", "--server-side", "-f", contender.crds);
  await client.apply(thingCrd());
  const replicas = stack.use(new Replicas(contender, server));
  await replicas.start();
  await applyWhenServed(client, definition());
  await applyWhenServed(client, composition());
  await until(async () => {
    if (replicas.hasEnded) throw new Ended(`${contender.command} has ended`);
    const object = await client.get({
      ...apiOf("apiextensions.crossplane.io/v1", "CompositeResourceDefinition"),
      name: "xbenches.bench.example.org",
    });
    return isTrue(object, "Established");
  });
  await until(async () => {
    client.forgetKinds();
    return (await client.list(THINGS)).items.length === 0 && (await client.list(XRS)).items.length === 0;
  });
  await replicas.look();
  const owned = stack.move();
  return {
    client,
    get controllerPid() {
      return replicas.leaderPid;
    },
    restart: async () => {
      await replicas.replaceLeader();
    },
    longestPause: () => replicas.longestPause(),
    serverPid: pidOf("kube-apiserver"),
    create: (prefix, count, kind = XRS) => createXrs(client, prefix, count, kind),
    requests: () => countRequests(server),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function createXrs(
  client: ConnectedClient,
  prefix: string,
  count: number,
  kind: ResourceKind,
): Promise<{ firstMs: number; allMs: number }> {
  const informers = startInformers(client);
  const { informer } = informers.acquire(kind);
  await informer.whenSynced();
  const ready = new Set<string>();
  const all = Promise.withResolvers<number>();
  let firstMs = 0;
  const began = performance.now();
  const look = (object: LiveObject): void => {
    const { name } = object.metadata;
    if (!name.startsWith(prefix) || ready.has(name) || !isTrue(object, "Ready")) return;
    ready.add(name);
    const ms = performance.now() - began;
    if (ready.size === 1) firstMs = ms;
    if (ready.size === count) all.resolve(ms);
  };
  informer.subscribe({ added: look, updated: look });
  const limit = setTimeout(() => all.reject(new Error(`only ${ready.size} of ${count} XRs became Ready`)), READY_MS);
  try {
    const names = Array.from({ length: count }, (_, index) => `${prefix}${index}`);
    const workers = Array.from({ length: 20 }, async () => {
      for (let name = names.pop(); name !== undefined; name = names.pop()) {
        await client.create(kind === XRS ? xbench(name) : scoped(kind, name));
      }
    });
    const [allMs] = await Promise.all([all.promise, ...workers]);
    return { firstMs, allMs };
  } finally {
    clearTimeout(limit);
    await informers.stop();
  }
}

/** Requests to the API server since its start for resources, without watches. */
export async function countRequests(
  server: ApiServer,
  resources: ReadonlySet<string> = COUNTED_RESOURCES,
): Promise<Requests> {
  const text = await metricsOf(server);
  let all = 0;
  let writes = 0;
  for (const [, labels = "", value] of text.matchAll(/^apiserver_request_total\{(.*)\} ([\d.e+]+)$/gm)) {
    const label = (name: string): string => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
    if (!resources.has(label("resource")) || label("verb") === "WATCH") continue;
    all += Number(value);
    if (WRITES.has(label("verb"))) writes += Number(value);
  }
  return { all, writes };
}

function metricsOf(server: ApiServer): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { ca: server.ca, headers: { authorization: `Bearer ${server.admin.token}` } };
    get(`${server.endpoint}/metrics`, options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    }).on("error", reject);
  });
}

/** CPU time of a process in seconds. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  // utime and stime, in ticks of 10 ms (proc(5)).
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Resident memory of a process, in MB. */
export function rssOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

// Finds a program of the API server among the child processes.
function pidOf(program: string): number {
  for (const entry of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const parent = Number(
        readFileSync(`/proc/${entry}/stat`, "utf8")
          .replace(/^.*\) /, "")
          .split(" ")[1],
      );
      const [first = ""] = readFileSync(`/proc/${entry}/cmdline`, "utf8").split("\0");
      if (parent === process.pid && first.endsWith(program)) return Number(entry);
    } catch {
      // The process has ended meanwhile.
    }
  }
  throw new Error(`${program} is not running`);
}

async function kubectl(server: ApiServer, ...args: readonly string[]): Promise<void> {
  const child = spawn(server.binaries.kubectl, args, {
    env: { PATH: process.env["PATH"], HOME: server.folder, KUBECONFIG: server.admin.kubeconfig },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${String(code)}`);
}

/** Applies an object as soon as its kind is served. */
export async function applyWhenServed(client: ConnectedClient, object: JsonObject): Promise<void> {
  await until(async () => {
    client.forgetKinds();
    await client.apply(object);
    return true;
  });
}

/** Waits until a condition holds; errors count as not yet. */
export async function until(done: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + READY_MS;
  for (;;) {
    try {
      if (await done()) return;
    } catch (error) {
      if (error instanceof Ended || Date.now() > end) throw error;
    }
    if (Date.now() > end) throw new Error(`not ready within ${READY_MS / 1000} s`);
    await sleep(50);
  }
}

/** The controller has exited unexpectedly, so waiting is pointless. */
class Ended extends Error {
  override readonly name = "Ended";
}

/** Whether a condition of an object is True. */
export function isTrue(object: JsonObject, type: string): boolean {
  const status = object["status"];
  const conditions: JsonValue | undefined = isObject(status) ? status["conditions"] : undefined;
  return (
    Array.isArray(conditions) &&
    conditions.some((condition) => isObject(condition) && condition["type"] === type && condition["status"] === "True")
  );
}
