// Rehearses an upgrade of the controller, and the way back, on a real API server:
//
//     npm run upgrade:rehearse -- [--from REF] [--xrs N]
//
// The version before is that of the Git reference, which it builds; by default, the current build twice. New XRs arrive
// all the time, and each program is killed, also while it starts. XRs and composed resources from before must stay as
// they are. Between versions, only the owner of an XR's `status.connectionDetails` may change: Crossplane's core must
// not remove the field, so the current version does not own it as older ones did.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { firstDifference, formatPath, type JsonObject, objectAt, objectsAt } from "@xfn/json";
import { connect, type LiveObject, loadKubeconfig } from "@xfn/kubernetes";
import { startApiServer } from "../test/harness/api-server.ts";
import { type RunningController, startController } from "../test/harness/controller-program.ts";
import { CHECKOUT, CONTROLLER_MAIN } from "../test/harness/paths.ts";
import { installThings, WIDGETS } from "../test/harness/things-cluster.ts";

/** An XR is created every so many milliseconds. */
const LOAD_MS = 100;
/** XRs are created this many at a time at the beginning. */
const CONCURRENCY = 20;
const IDLE_CHECK_MS = 200;
/** The most that a phase may take. */
const PHASE_TIMEOUT_MS = 10 * 60_000;

const { values } = parseArgs({ options: { from: { type: "string" }, xrs: { type: "string", default: "1000" } } });
const count = Number(values.xrs);
if (!Number.isSafeInteger(count) || count < 1) throw new Error(`--xrs: ${values.xrs} is not a number`);

const folder = mkdtempSync(join(tmpdir(), "xfn-upgrade-"));
const worktree = join(folder, "before");
const server = await startApiServer();
const client = await connect({
  access: await loadKubeconfig({ path: server.admin.kubeconfig }),
  fieldManager: "rehearsal",
});
let controller: RunningController | undefined;
try {
  const before = values.from === undefined ? CONTROLLER_MAIN : build(values.from);
  controller = await start(before);
  await installThings(server);
  const names = Array.from({ length: count }, (_, index) => `xr-${index}`);
  for (let at = 0; at < count; at += CONCURRENCY) await Promise.all(names.slice(at, at + CONCURRENCY).map(create));
  await settled(controller, count);
  let objects = await snapshot();
  say(`${objects.size} objects of ${count} XRs`);
  let load = 0;
  const phases: [title: string, main: string][] = [
    ["upgrade", CONTROLLER_MAIN],
    ["way back", before],
    ["second upgrade", CONTROLLER_MAIN],
  ];
  for (const [title, main] of phases) {
    const stop = new AbortController();
    const loading = (async () => {
      for (; !stop.signal.aborted; await sleep(LOAD_MS)) await create(`load-${load++}`);
    })();
    await controller.end("SIGKILL");
    controller = await start(main, "started");
    await controller.end("SIGKILL");
    controller = await start(main);
    stop.abort();
    await loading;
    await settled(controller, count + load);
    const after = await snapshot();
    report(title, objects, after, count + load);
    objects = after;
  }
  say("the rehearsal passed");
} finally {
  await controller?.end("SIGTERM");
  await client.close();
  await server.stop();
  if (values.from !== undefined) git("worktree", "remove", "--force", worktree);
  rmSync(folder, { recursive: true, force: true });
}

/** Builds the controller of a Git reference. @returns the path of the program */
function build(reference: string): string {
  say(`build ${reference}`);
  git("worktree", "add", "--detach", worktree, reference);
  const npm = (...args: readonly string[]): void => {
    execFileSync("npm", args, { cwd: worktree, stdio: ["ignore", 2, 2] });
  };
  npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline");
  npm("run", "build");
  return join(worktree, relative(CHECKOUT, CONTROLLER_MAIN));
}

function git(...args: readonly string[]): void {
  execFileSync("git", args, { cwd: CHECKOUT, stdio: ["ignore", 2, 2] });
}

/** @param until the message of the log to wait for; `started` comes before the first reconcile */
function start(main: string, until = "ready"): Promise<RunningController> {
  const wrap = (command: readonly string[]): string[] => command.map((one) => (one === CONTROLLER_MAIN ? main : one));
  return startController(server.admin.kubeconfig, { wrap, until });
}

async function create(name: string): Promise<void> {
  await client.create({ apiVersion: "example.org/v1", kind: "XThing", metadata: { name }, spec: {} });
}

/** Waits until each XR has its composed resources, and the controller has nothing left to do. */
async function settled({ http }: RunningController, xrs: number): Promise<void> {
  const widgetKind = await client.kind("things.example.org/v1", "Widget");
  for (const end = Date.now() + PHASE_TIMEOUT_MS; ; await sleep(IDLE_CHECK_MS)) {
    const metrics = await (await fetch(`${http}/metrics`)).text();
    const isIdle = ["running", "waiting"].every((name) => new RegExp(`^xfn_controller_${name} 0$`, "m").test(metrics));
    const widgets = isIdle ? (await client.list(widgetKind, { metadataOnly: true })).items.length : -1;
    if (widgets === xrs * WIDGETS) return;
    if (Date.now() > end) throw new Error(`${widgets} composed resources instead of ${xrs * WIDGETS}`);
  }
}

/** All objects of the rehearsal. */
async function snapshot(): Promise<Map<string, LiveObject>> {
  const kinds = [
    ["example.org/v1", "XThing"],
    ["things.example.org/v1", "Widget"],
    ["apiextensions.crossplane.io/v1", "CompositeResourceDefinition"],
    ["apiextensions.crossplane.io/v1", "Composition"],
    ["apiextensions.crossplane.io/v1", "CompositionRevision"],
  ] as const;
  const objects = new Map<string, LiveObject>();
  for (const [apiVersion, kind] of kinds)
    for (const object of (await client.list(await client.kind(apiVersion, kind))).items)
      objects.set(`${kind} ${object.metadata.name}`, object);
  return objects;
}

/** @throws {Error} if an object from before was written, deleted or recreated, or if there are others than expected */
function report(
  title: string,
  before: ReadonlyMap<string, LiveObject>,
  after: ReadonlyMap<string, LiveObject>,
  xrs: number,
): void {
  const problems = { lost: [] as string[], recreated: [] as string[], written: [] as string[] };
  let reowned = 0;
  for (const [name, was] of before) {
    const now = after.get(name);
    if (now === undefined) problems.lost.push(name);
    else if (now.metadata.uid !== was.metadata.uid) problems.recreated.push(name);
    else if (now.metadata.resourceVersion !== was.metadata.resourceVersion) {
      const path = firstDifference(content(was), content(now));
      if (path === undefined && values.from !== undefined) reowned++;
      else problems.written.push(`${name}: ${formatPath(path ?? ["metadata", "managedFields"])}`);
    }
  }
  const figures = Object.entries(problems).map(([problem, names]) => `${names.length} ${problem}`);
  say(
    `${title}: ${xrs} XRs, ${before.size} objects from before: ${figures.join(", ")}` +
      (reowned > 0 ? `, ${reowned} with another owner of status.connectionDetails` : ""),
  );
  const [first] = Object.values(problems).flat();
  if (first !== undefined) throw new Error(`${title}: ${figures.join(", ")}, such as ${first}`);
}

/** An object with the owners of its fields, except the owner of `status.connectionDetails`. */
function content({ metadata, ...object }: LiveObject): JsonObject {
  const { resourceVersion: _, managedFields, ...rest } = metadata;
  const owners = objectsAt(managedFields).map(({ manager, operation, subresource, fieldsV1 }) => {
    const { "f:connectionDetails": __, ...status } = objectAt(fieldsV1, "f:status");
    return [JSON.stringify([manager, operation, subresource]), { ...objectAt(fieldsV1), "f:status": status }] as const;
  });
  return { ...object, metadata: { ...rest, managedFields: Object.fromEntries(owners) } };
}

function say(text: string): void {
  process.stderr.write(`rehearsal: ${text}\n`);
}
