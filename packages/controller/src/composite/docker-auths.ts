import { isObject } from "@xfn/functionio";
import type { RegistryAuth } from "@xfn/pipeline";

/** Where Docker has always kept the credentials of Docker Hub, and what images there are called. */
const HUB: readonly string[] = ["index.docker.io", "registry-1.docker.io", "docker.io"];

/** Credentials by registry. */
export interface DockerAuths {
  /** Those for an image; undefined if there are none. */
  find(image: string): RegistryAuth | undefined;
}

/**
 * The credentials of a pull secret, in the form of Docker's config file. Only `auths` is read: a Secret is somebody's input, and
 * names no program that is run. What cannot be read holds none.
 *
 * @param old the form of `.dockercfg`: `auths` alone
 */
export function dockerAuths(text: string, old = false): DockerAuths {
  const config = parsed(text);
  const auths = old ? config : isObject(config) ? config["auths"] : undefined;
  const entries = Object.entries(isObject(auths) ? auths : {}).flatMap(([key, value]): Entry[] => {
    const auth = isObject(value) ? authOf(value) : undefined;
    return auth === undefined ? [] : [{ ...placeOf(key), auth }];
  });
  return {
    find(image) {
      const { host, path } = placeOfImage(image);
      const fitting = entries.filter((entry) => isHost(host, entry.host) && isWithin(path, entry.path));
      // The longest path counts, a repository's own before the registry's; and a name before a pattern.
      const [best] = fitting.toSorted(
        (a, b) => b.path.length - a.path.length || Number(b.host === host) - Number(a.host === host),
      );
      return best?.auth;
    },
  };
}

interface Place {
  host: string;
  path: string;
}

interface Entry extends Place {
  auth: RegistryAuth;
}

/** The error would quote what may be a password. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function authOf(entry: Readonly<Record<string, unknown>>): RegistryAuth | undefined {
  const text = (name: string): string | undefined => {
    const value = entry[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const [username, password, auth] = [text("username"), text("password"), text("auth")];
  const [identityToken, registryToken] = [text("identitytoken"), text("registrytoken")];
  const found: RegistryAuth = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(auth !== undefined && { auth }),
    ...(identityToken !== undefined && { identityToken }),
    ...(registryToken !== undefined && { registryToken }),
  };
  return Object.keys(found).length === 0 ? undefined : found;
}

/**
 * Whether a registry is one that a key is for. In each part of a key's name `*` stands for any characters and `?` for one, as in
 * `*.registry.example.org` (Kubernetes, "Images", interpretation of config.json); never for a dot, nor for a port.
 */
function isHost(host: string, pattern: string): boolean {
  const [ours, theirs] = [host.split(/[.:]/), pattern.split(/[.:]/)];
  const isShape = ours.length === theirs.length && host.includes(":") === pattern.includes(":");
  return isShape && theirs.every((part, index) => isLike(ours[index] ?? "", part));
}

/** In steps that do not grow with the number of `*`, as those of a regular expression would: a pattern is somebody's input. */
function isLike(text: string, pattern: string): boolean {
  let [at, from, star] = [0, 0, -1];
  let next = 0;
  while (at < text.length) {
    if (pattern[next] === "*") {
      [star, from] = [next++, at];
    } else if (pattern[next] === "?" || pattern[next] === text[at]) {
      at++;
      next++;
    } else if (star !== -1) {
      at = ++from;
      next = star + 1;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(next));
}

/** Keys are `HOST[:PORT]`, also with a scheme, with `/v1/` or `/v2/` as old versions wrote them, or with the beginning of a path. */
function placeOf(key: string): Place {
  const bare = key.replace(/^https?:\/\//, "");
  const slash = bare.indexOf("/");
  const path = slash === -1 ? "" : bare.slice(slash + 1).replace(/\/+$/, "");
  return {
    host: registryOf(slash === -1 ? bare : bare.slice(0, slash)),
    path: path === "v1" || path === "v2" ? "" : path,
  };
}

/** The first part of an image's name is its registry if it can be no name of a user: it has a dot or a port, or is localhost. */
function placeOfImage(image: string): Place {
  const [name = ""] = image.split("@");
  const slash = name.indexOf("/");
  const first = slash === -1 ? "" : name.slice(0, slash);
  const named = /[.:]/.test(first) || first === "localhost";
  const rest = (named ? name.slice(slash + 1) : name).replace(/:[^/:]*$/, "");
  const host = named ? registryOf(first) : "docker.io";
  return { host, path: host === "docker.io" && !rest.includes("/") ? `library/${rest}` : rest };
}

function registryOf(host: string): string {
  const lower = host.toLowerCase();
  return HUB.includes(lower) ? "docker.io" : lower;
}

function isWithin(path: string, prefix: string): boolean {
  return prefix === "" || path === prefix || path.startsWith(`${prefix}/`);
}
