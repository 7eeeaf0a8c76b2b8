import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@xfn/json";
import { type Client, connect, isApiError, loadKubeconfig, type ResourceKind } from "@xfn/kubernetes";
import type { TestApiServer } from "../harness/api-server.ts";
import { startController } from "../harness/controller-program.ts";
import { apiVersionOf, COMPOSITIONS, CRDS, DEFINITIONS } from "./kinds.ts";
import { objectsAt } from "./objects.ts";

// A group of its own, so that other tests on the same server do not count these objects.
const GROUP = "many.example.org";
// An API server on two idle cores establishes two CRDs in a tenth of this.
const PER_DEFINITION_MS = 6_000;
const AT_LEAST_MS = 60_000;
const LOOK_MS = 250;

/** Options of {@link manyDefinitions}. */
export interface ManyDefinitionsOptions {
  readonly count: number;
  /** Called for each line of the controller's log with level warn or error, at the end, even if the run fails. */
  readonly onComplaint: (line: string) => void;
}

/**
 * Runs the controller over HTTP/1.1 (`kubectl proxy`) with many definitions that offer claims, each with one composite.
 * Each definition takes two watches. Waits until all composites are ready, deletes the definitions, and waits until
 * their CRDs are gone.
 *
 * @throws {Error} if it takes too long
 */
export async function manyDefinitions(
  server: TestApiServer,
  { count, onComplaint }: ManyDefinitionsOptions,
): Promise<void> {
  const end = Date.now() + AT_LEAST_MS + count * PER_DEFINITION_MS;
  const access = await loadKubeconfig({ path: server.admin.kubeconfig });
  const client = await connect({ access, fieldManager: "person" });
  await using proxy = await startProxy(server);
  await using controller = await startController(proxy.kubeconfig, { args: ["--skip-crds"] });
  const until = async (what: string, isDone: () => Promise<boolean>): Promise<void> => {
    while (!(await isDone())) {
      if (Date.now() > end)
        throw new Error(`${what}: not in time; the log ends: ${JSON.stringify(controller.log().slice(-5))}`);
      await sleep(LOOK_MS);
    }
  };
  try {
    const numbers = Array.from({ length: count }, (_, index) => index);
    for (const number of numbers)
      for (const object of [definition(number), composition(number)]) await client.apply(object);
    for (const number of numbers) await until(`create composite ${number}`, () => created(client, number));
    await until("readiness of all composites", async () => {
      const ready = await Promise.all(numbers.map((number) => isReady(client, number)));
      return ready.every(Boolean);
    });
    for (const { metadata } of await ours(client, DEFINITIONS))
      await until(`deletion of ${metadata.name}`, () => deleted(client, metadata.name));
    await until("deletion of all CRDs", async () => (await ours(client, CRDS)).length === 0);
  } finally {
    const complaints = controller.log().filter(({ level }) => level === "warn" || level === "error");
    for (const line of complaints) onComplaint(JSON.stringify(line));
    for (const number of Array(count).keys())
      await client
        .delete({ apiVersion: apiVersionOf(COMPOSITIONS), kind: COMPOSITIONS.kind, name: `many-${number}` })
        .catch(() => undefined);
    await client.close();
  }
}

function kindOf(number: number): ResourceKind {
  return { group: GROUP, version: "v1", kind: `XMany${number}`, plural: `xmany${number}s`, namespaced: false };
}

function definition(number: number): JsonObject {
  const { kind, plural } = kindOf(number);
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } };
  return {
    apiVersion: apiVersionOf(DEFINITIONS),
    kind: DEFINITIONS.kind,
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      names: { kind, plural },
      claimNames: { kind: kind.slice(1), plural: plural.slice(1) },
      versions: [{ name: "v1", served: true, referenceable: true, schema }],
    },
  };
}

function composition(number: number): JsonObject {
  const { kind } = kindOf(number);
  return {
    apiVersion: apiVersionOf(COMPOSITIONS),
    kind: COMPOSITIONS.kind,
    metadata: { name: `many-${number}` },
    spec: { compositeTypeRef: { apiVersion: `${GROUP}/v1`, kind }, environment: { defaultData: {} } },
  };
}

async function created(client: Client, number: number): Promise<boolean> {
  const { kind } = kindOf(number);
  try {
    await client.apply({ apiVersion: `${GROUP}/v1`, kind, metadata: { name: "x" }, spec: {} });
    return true;
  } catch (error) {
    if (isApiError(error, "KindNotServed", "NotFound")) return false;
    throw error;
  }
}

/** Deletes a definition. @returns false if the same request may succeed later: a loaded API server is slow */
async function deleted(client: Client, name: string): Promise<boolean> {
  try {
    await client.delete({ apiVersion: apiVersionOf(DEFINITIONS), kind: DEFINITIONS.kind, name });
    return true;
  } catch (error) {
    // An earlier request may have deleted it although its response was lost.
    if (isApiError(error, "NotFound")) return true;
    if (isApiError(error) && error.retryable) return false;
    throw error;
  }
}

async function isReady(client: Client, number: number): Promise<boolean> {
  const { kind } = kindOf(number);
  const object = await client.get({ apiVersion: `${GROUP}/v1`, kind, name: "x" });
  const conditions = objectsAt(object, "status", "conditions");
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

async function ours(client: Client, kind: ResourceKind) {
  const { items } = await client.list(kind);
  return items.filter(({ metadata }) => metadata.name.endsWith(`.${GROUP}`));
}

/** Starts `kubectl proxy`, which speaks HTTP/1.1, and writes a kubeconfig for it. */
async function startProxy(server: TestApiServer): Promise<AsyncDisposable & { readonly kubeconfig: string }> {
  const folder = await mkdtemp(join(tmpdir(), "xfn-proxy-"));
  const child = spawn(server.binaries.kubectl, ["proxy", "--port=0"], {
    env: { PATH: process.env["PATH"], HOME: folder, KUBECONFIG: server.admin.kubeconfig },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line = ""] = await new Promise<string[]>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`kubectl proxy exited with ${String(code)}`)));
    createInterface(child.stdout).once("line", (text) => resolve([text]));
  });
  const address = /127\.0\.0\.1:\d+/.exec(line)?.[0];
  if (address === undefined) throw new Error(`kubectl proxy: ${line}`);
  const kubeconfig = join(folder, "kubeconfig");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "proxy", cluster: { server: `http://${address}` } }],
    users: [{ name: "proxy", user: {} }],
    contexts: [{ name: "proxy", context: { cluster: "proxy", user: "proxy" } }],
    "current-context": "proxy",
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  return {
    kubeconfig,
    async [Symbol.asyncDispose]() {
      child.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
