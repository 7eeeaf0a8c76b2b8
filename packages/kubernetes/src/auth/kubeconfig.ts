import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { proxyOf } from "@xfn/proxy";
import type { ClusterAccess } from "./access.ts";
import { credentialsOf, stringOf } from "./credentials.ts";
import { inClusterAccess, SERVICE_ACCOUNT } from "./in-cluster.ts";
import { KubeconfigError } from "./kubeconfig-error.ts";

export interface KubeconfigOptions {
  /** The file. Default: the files of `KUBECONFIG`, else `~/.kube/config`, else the pod's service account. */
  readonly path?: string | undefined;
  /** Default: the file's `current-context`. */
  readonly context?: string | undefined;
  /** Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

// An embedded certificate has some KB, and people collect dozens of clusters in one file.
const MAX_KUBECONFIG_BYTES = 8 * 1024 * 1024;

/** A named entry of a kubeconfig, and the folder at which its relative paths start. */
interface Entry {
  readonly value: JsonObject;
  readonly folder: string;
}

interface Merged {
  readonly clusters: Map<string, Entry>;
  readonly users: Map<string, Entry>;
  readonly contexts: Map<string, Entry>;
  currentContext: string | undefined;
}

/**
 * Finds the API server and the credentials as `kubectl` does (kubernetes.io, "Organizing Cluster Access Using
 * kubeconfig Files"). Uses the pod's service account only if there is no kubeconfig.
 *
 * @throws {KubeconfigError}
 */
export async function loadKubeconfig(options: KubeconfigOptions = {}): Promise<ClusterAccess> {
  const env = options.env ?? process.env;
  const { merged, paths, found } = await readFiles(options, env);
  if (found === 0) {
    if (env["KUBERNETES_SERVICE_HOST"] !== undefined && (await exists(join(SERVICE_ACCOUNT, "token")))) {
      return inClusterAccess({ env });
    }
    throw new KubeconfigError(
      "NotFound",
      `no kubeconfig at ${paths.join(", ")} and not in a pod: name one with --kubeconfig or KUBECONFIG`,
    );
  }
  return accessOf(merged, options.context, env);
}

/** The names of the contexts in the kubeconfig; none without a kubeconfig. @throws {KubeconfigError} */
export async function kubeconfigContexts(options: KubeconfigOptions = {}): Promise<readonly string[]> {
  const { merged } = await readFiles(options, options.env ?? process.env);
  return [...merged.contexts.keys()];
}

async function readFiles(
  options: KubeconfigOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ merged: Merged; paths: readonly string[]; found: number }> {
  const named = options.path === undefined ? (env["KUBECONFIG"] ?? "") : options.path;
  // As in kubectl, files of KUBECONFIG may be missing, but not the file of a flag.
  const paths = options.path === undefined ? named.split(delimiter).filter((path) => path !== "") : [named];
  if (paths.length === 0) paths.push(join(env["HOME"] ?? homeFolder(), ".kube", "config"));
  const merged: Merged = { clusters: new Map(), users: new Map(), contexts: new Map(), currentContext: undefined };
  let found = 0;
  for (const path of paths) if (await mergeFile(resolve(path), merged, options.path !== undefined)) found++;
  return { merged, paths, found };
}

function accessOf(merged: Merged, wanted: string | undefined, env: Readonly<Record<string, string | undefined>>) {
  const name = wanted ?? merged.currentContext;
  if (name === undefined) throw new KubeconfigError("Invalid", "the kubeconfig has no current-context: name one");
  const context = entry(merged.contexts, "context", name);
  const clusterName = stringOf(context.value, "cluster");
  if (clusterName === undefined) throw new KubeconfigError("Invalid", `context ${name} names no cluster`);
  const cluster = entry(merged.clusters, "cluster", clusterName);
  const userName = stringOf(context.value, "user");
  const user = userName === undefined ? { value: {}, folder: "" } : entry(merged.users, "user", userName);
  const server = serverOf(clusterName, cluster.value);
  const credentials = credentialsOf({
    name: userName ?? "",
    user: user.value,
    folder: user.folder,
    cluster: cluster.value,
    clusterFolder: cluster.folder,
    env,
  });
  return {
    server,
    namespace: stringOf(context.value, "namespace"),
    proxy: stringOf(cluster.value, "proxy-url") ?? proxyOf(server, env),
    ...credentials,
  } satisfies ClusterAccess;
}

function serverOf(name: string, cluster: JsonObject): string {
  const server = stringOf(cluster, "server");
  const url = server === undefined || !URL.canParse(server) ? undefined : new URL(server);
  if (server === undefined || (url?.protocol !== "https:" && url?.protocol !== "http:")) {
    throw new KubeconfigError("Invalid", `cluster ${name}: server must be https://HOST:PORT`);
  }
  return server.replace(/\/+$/, "");
}

async function mergeFile(path: string, into: Merged, mustExist: boolean): Promise<boolean> {
  let bytes: Buffer;
  try {
    if ((await stat(path)).size > MAX_KUBECONFIG_BYTES) throw new Error("it is larger than 8 MiB");
    bytes = await readFile(path);
  } catch (cause) {
    const missing = cause instanceof Error && "code" in cause && (cause.code === "ENOENT" || cause.code === "ENOTDIR");
    if (missing && !mustExist) return false;
    throw new KubeconfigError(
      "Unreadable",
      `kubeconfig ${path} cannot be read: ${missing ? "there is no such file" : String(cause)}`,
      { cause },
    );
  }
  let value: JsonValue | undefined;
  try {
    value = readDocuments(bytes, { source: path })[0]?.value;
  } catch (cause) {
    throw new KubeconfigError("Invalid", `kubeconfig ${path} is not YAML: ${String(cause)}`, { cause });
  }
  if (!isObject(value)) throw new KubeconfigError("Invalid", `kubeconfig ${path} is empty or not an object`);
  // The first file that sets a value wins.
  into.currentContext ??= stringOf(value, "current-context");
  for (const [list, key, map] of [
    ["clusters", "cluster", into.clusters],
    ["users", "user", into.users],
    ["contexts", "context", into.contexts],
  ] as const) {
    const items = value[list] ?? [];
    if (!Array.isArray(items)) throw new KubeconfigError("Invalid", `kubeconfig ${path}: ${list} must be a list`);
    for (const item of items) {
      const name = isObject(item) ? stringOf(item, "name") : undefined;
      if (!isObject(item) || name === undefined) {
        throw new KubeconfigError("Invalid", `kubeconfig ${path}: an entry of ${list} has no name`);
      }
      const inner = item[key];
      if (!map.has(name)) map.set(name, { value: isObject(inner) ? inner : {}, folder: dirname(path) });
    }
  }
  return true;
}

function entry(map: Map<string, Entry>, what: string, name: string): Entry {
  const found = map.get(name);
  if (found === undefined)
    throw new KubeconfigError("Invalid", `the kubeconfig has no ${what} ${JSON.stringify(name)}`);
  return found;
}

/** `homedir` throws for a user without an entry in the user database. */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return "/";
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
