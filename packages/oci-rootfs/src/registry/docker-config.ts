import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { ImageError } from "../base/errors.ts";
import { DEFAULT_REGISTRY } from "../image/image-name.ts";
import type { RegistryAuth } from "./auth.ts";
import { credentialHelper, type HelperOptions } from "./credential-helper.ts";
import { type CredentialRequest, type Credentials } from "./credentials.ts";

/** The largest seen hold some dozen registries. */
const MAX_CONFIG_BYTES = 1024 * 1024;
/** Where Docker has always kept the credentials of Docker Hub. */
export const DOCKER_HUB_KEY = "https://index.docker.io/v1/";

/** What of a docker config file concerns credentials. */
export interface DockerConfig {
  /** By registry, as the file spells it. */
  readonly auths: ReadonlyMap<string, RegistryAuth>;
  /** Helper programs (`docker-credential-NAME`) by registry. */
  readonly credHelpers: ReadonlyMap<string, string>;
  /** The helper for all others. */
  readonly credsStore: string | undefined;
}

export interface DockerCredentialsOptions extends HelperOptions {
  /** The file. Default: `$DOCKER_CONFIG/config.json`, else `~/.docker/config.json`. */
  readonly file?: string | undefined;
}

/**
 * Credentials as `docker login` keeps them: `credHelpers`, `credsStore` and `auths` of the docker config file, which is read
 * each time it is asked; a file that does not exist holds none.
 */
export function dockerCredentials(options: DockerCredentialsOptions = {}): Credentials {
  return async (request) => {
    const file = options.file ?? defaultFile(options.env ?? process.env);
    const text = file === undefined ? undefined : readConfig(file);
    if (file === undefined || text === undefined) return undefined;
    const config = parseDockerConfig(text, file);
    const helper = keyed(config.credHelpers, request) ?? config.credsStore;
    if (helper !== undefined) {
      const key = request.registry === DEFAULT_REGISTRY ? DOCKER_HUB_KEY : request.registry;
      const found = await credentialHelper(helper, key, { ...options, signal: request.signal });
      if (found !== undefined) return found;
    }
    return keyed(config.auths, request);
  };
}

/**
 * Credentials of Kubernetes pull secrets: the content of `.dockerconfigjson`, one or several, the first that has the registry
 * counts. Only `auths` is read: a secret is somebody's input, and starts no program.
 *
 * @throws ImageError InvalidCredentials, when it is made
 */
export function pullSecretCredentials(...dockerConfigJson: readonly (string | Uint8Array)[]): Credentials {
  const configs = dockerConfigJson.map((content) => {
    const text = typeof content === "string" ? content : new TextDecoder().decode(content);
    if (text.length > MAX_CONFIG_BYTES) throw invalid(".dockerconfigjson", `more than ${MAX_CONFIG_BYTES} bytes`);
    return parseDockerConfig(text, ".dockerconfigjson");
  });
  return async (request) => {
    for (const { auths } of configs) {
      const found = keyed(auths, request);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** @throws ImageError InvalidCredentials; the message repeats nothing of the content */
export function parseDockerConfig(text: string, file: string): DockerConfig {
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch {
    // The cause would quote what may be a password.
    throw invalid(file, "not JSON");
  }
  if (!isObject(config)) throw invalid(file, "not a JSON object");
  const { credsStore } = config;
  const auths = new Map<string, RegistryAuth>();
  for (const [key, entry] of entriesOf(config["auths"])) {
    const auth = isObject(entry) ? authOf(entry) : undefined;
    if (auth !== undefined) auths.set(key, auth);
  }
  const credHelpers = new Map<string, string>();
  for (const [key, helper] of entriesOf(config["credHelpers"])) {
    if (typeof helper === "string") credHelpers.set(key, helper);
  }
  return {
    auths,
    credHelpers,
    credsStore: typeof credsStore === "string" && credsStore !== "" ? credsStore : undefined,
  };
}

/** An entry of `auths`; undefined where it is empty, as it is beside a `credsStore`. */
function authOf(entry: Readonly<Record<string, unknown>>): RegistryAuth | undefined {
  const text = (name: string): string | undefined => {
    const value = entry[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const [identityToken, registryToken] = [text("identitytoken"), text("registrytoken")];
  const tokens = {
    ...(identityToken !== undefined && { identityToken }),
    ...(registryToken !== undefined && { registryToken }),
  };
  let [username, password] = [text("username"), text("password")];
  const packed = text("auth");
  if (packed !== undefined) {
    const plain = Buffer.from(packed, "base64").toString("utf8");
    const colon = plain.indexOf(":");
    if (colon >= 0) {
      username = plain.slice(0, colon);
      // Docker pads with NUL bytes.
      password = plain.slice(colon + 1).replace(/\0+$/, "");
    }
  }
  const names = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  const auth = { ...names, ...tokens };
  return Object.keys(auth).length === 0 ? undefined : auth;
}

/**
 * The entry for a registry: keys are `HOST[:PORT]`, also with a scheme, `/v1/` or `/v2/` as old versions of Docker wrote
 * them, or with the beginning of a repository's path, of which the longest counts. A host is never taken for another one: `*.`
 * stands for one name, as in Kubernetes, and ports must be the same.
 */
function keyed<T>(
  entries: ReadonlyMap<string, T>,
  { registry, repository }: Omit<CredentialRequest, "signal">,
): T | undefined {
  let best: { value: T; rank: number } | undefined;
  for (const [key, value] of entries) {
    const { host, path } = parseKey(key);
    const exact = host === registry;
    if (!exact && !globMatches(host, registry)) continue;
    if (path !== "" && path !== repository && !repository.startsWith(`${path}/`)) continue;
    const rank = path.length * 2 + (exact ? 1 : 0);
    if (best === undefined || rank > best.rank) best = { value, rank };
  }
  return best?.value;
}

function parseKey(key: string): { host: string; path: string } {
  const bare = key.replace(/^https?:\/\//, "");
  const slash = bare.indexOf("/");
  const host = (slash < 0 ? bare : bare.slice(0, slash)).toLowerCase();
  const path = slash < 0 ? "" : bare.slice(slash + 1).replace(/\/+$/, "");
  const hub = host === "index.docker.io" || host === "registry-1.docker.io";
  return { host: hub ? DEFAULT_REGISTRY : host, path: path === "v1" || path === "v2" ? "" : path };
}

function globMatches(pattern: string, host: string): boolean {
  if (!pattern.includes("*")) return false;
  const [wanted, offered] = [pattern.split("."), host.split(".")];
  // `*` alone, or for a whole domain, would hand the credentials to anybody.
  if (wanted.length !== offered.length || wanted.length < 3 || wanted.slice(-2).some((part) => part.includes("*")))
    return false;
  return wanted.every((part, i) => part === offered[i] || (part === "*" && /^[a-z0-9-]+$/.test(offered[i] ?? "")));
}

function defaultFile(env: NodeJS.ProcessEnv): string | undefined {
  const { DOCKER_CONFIG: folder, HOME: home } = env;
  if (folder !== undefined && folder !== "") return join(folder, "config.json");
  if (home !== undefined) return isAbsolute(home) ? join(home, ".docker", "config.json") : undefined;
  try {
    return join(homedir(), ".docker", "config.json");
  } catch {
    // A user without home and passwd entry has no file either.
    return undefined;
  }
}

function readConfig(file: string): string | undefined {
  try {
    const stats = statSync(file);
    // A FIFO would be waited for; standard input and the like are no config.
    if (!stats.isFile()) throw invalid(file, "not a regular file");
    if (stats.size > MAX_CONFIG_BYTES) throw invalid(file, `more than ${MAX_CONFIG_BYTES} bytes`);
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof ImageError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw invalid(file, message);
  }
}

function entriesOf(value: unknown): [string, unknown][] {
  return isObject(value) ? Object.entries(value) : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(file: string, why: string): ImageError {
  return new ImageError("InvalidCredentials", `cannot use the credentials in ${file}: ${why}`);
}
