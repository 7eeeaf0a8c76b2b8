import type { RegistryAuth } from "@xfn/runner-contract";
import { type Fields, isObject, parseJsonObject } from "../base/json.ts";
import { canonicalRegistry, tryParseImageName } from "../image/image-name.ts";

/** Credentials by registry, as docker's config file and pull secrets spell it: `HOST[:PORT][/PATH]`. */
export type DockerAuths = ReadonlyMap<string, RegistryAuth>;

/**
 * Reads the `auths` of a pull secret. `credsStore` and `credHelpers` are ignored: a secret is untrusted input and
 * must not choose a program that runs here.
 *
 * @param legacy the form of `.dockercfg`, which is `auths` alone
 * @returns undefined if the text is not a JSON object
 */
export function parsePullSecret(text: string, legacy = false): DockerAuths | undefined {
  const config = parseJsonObject(text);
  return config === undefined ? undefined : authsOf(legacy ? config : config["auths"]);
}

/** The credentials for an image at a registry, by its name. */
export function findAuth(auths: DockerAuths, image: string): RegistryAuth | undefined {
  const name = tryParseImageName(image);
  return name?.kind === "registry" ? matchRegistry(auths, name.registry, name.repository) : undefined;
}

/** Reads `auths`, without entries that lack credentials. Docker writes such entries if there is a `credsStore`. */
export function authsOf(value: unknown): DockerAuths {
  const auths = new Map<string, RegistryAuth>();
  for (const [key, entry] of entriesOf(value)) {
    const auth = isObject(entry) ? authOf(entry) : undefined;
    if (auth !== undefined) auths.set(key, auth);
  }
  return auths;
}

export function entriesOf(value: unknown): [string, unknown][] {
  return isObject(value) ? Object.entries(value) : [];
}

function authOf(entry: Fields): RegistryAuth | undefined {
  const text = (name: string): string | undefined => {
    const value = entry[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const [identityToken, registryToken] = [text("identitytoken"), text("registrytoken")];
  let [username, password] = [text("username"), text("password")];
  const plain = Buffer.from(text("auth") ?? "", "base64").toString("utf8");
  const colon = plain.indexOf(":");
  if (colon >= 0) {
    username = plain.slice(0, colon);
    // Docker pads with NUL bytes.
    password = plain.slice(colon + 1).replace(/\0+$/, "");
  }
  const auth: RegistryAuth = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(identityToken !== undefined && { identityToken }),
    ...(registryToken !== undefined && { registryToken }),
  };
  return Object.keys(auth).length === 0 ? undefined : auth;
}

/**
 * The entry for a repository of a registry. A key is `HOST[:PORT][/PATH]`, where the path is a prefix of the
 * repository in whole components. Old versions of Docker also wrote a scheme, and `/v1/` or `/v2/`. The longest path
 * wins, then a host without wildcards.
 */
export function matchRegistry<T>(entries: ReadonlyMap<string, T>, registry: string, repository: string): T | undefined {
  let best: { value: T; rank: number } | undefined;
  for (const [key, value] of entries) {
    const { host, path } = parseKey(key);
    const exact = host === registry;
    if (!exact && !matchesHost(host, registry)) continue;
    if (path !== "" && path !== repository && !repository.startsWith(`${path}/`)) continue;
    const rank = path.length * 2 + (exact ? 1 : 0);
    if (best === undefined || rank > best.rank) best = { value, rank };
  }
  return best?.value;
}

/** The keys that mean exactly this registry, or this path of it, in any spelling. */
export function keysOf(entries: ReadonlyMap<string, unknown>, registry: string, path = ""): string[] {
  return [...entries.keys()].filter((key) => {
    const parsed = parseKey(key);
    return parsed.host === registry && parsed.path === path;
  });
}

function parseKey(key: string): { host: string; path: string } {
  const bare = key.replace(/^https?:\/\//, "");
  const slash = bare.indexOf("/");
  const path = slash < 0 ? "" : bare.slice(slash + 1).replace(/\/+$/, "");
  return {
    host: canonicalRegistry(slash < 0 ? bare : bare.slice(0, slash)),
    path: path === "v1" || path === "v2" ? "" : path,
  };
}

/**
 * Whether a host is one of a pattern such as `*.registry.example` or `eu?-*.registry.example:5000`: in each label,
 * `*` is any text and `?` one character, never a dot; ports must be equal (Kubernetes, "Images", "Interpretation of
 * config.json"). Stricter than the kubelet: at least two labels must have no wildcard, as `*` or `*.com` would send
 * the credentials to any host that an image names.
 */
function matchesHost(pattern: string, host: string): boolean {
  const [wanted, offered] = [hostLabels(pattern), hostLabels(host)];
  if (wanted.port !== offered.port || wanted.labels.length !== offered.labels.length) return false;
  if (wanted.labels.filter((label) => !/[*?]/.test(label)).length < 2) return false;
  return wanted.labels.every((label, index) => matchesLabel(label, offered.labels[index] ?? ""));
}

function hostLabels(host: string): { labels: readonly string[]; port: string } {
  const [, name = host, port = ""] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
  return { labels: name.split("."), port };
}

// Backtracks to the last `*` only. Patterns are untrusted, and a regular expression could take exponential time.
function matchesLabel(pattern: string, label: string): boolean {
  let [at, next] = [0, 0];
  let star: { next: number; at: number } | undefined;
  while (at < label.length) {
    if (pattern[next] === "*") {
      star = { next: ++next, at };
    } else if (pattern[next] === "?" || pattern[next] === label[at]) {
      at += 1;
      next += 1;
    } else if (star !== undefined) {
      star.at += 1;
      [at, next] = [star.at, star.next];
    } else return false;
  }
  return /^\**$/.test(pattern.slice(next));
}
