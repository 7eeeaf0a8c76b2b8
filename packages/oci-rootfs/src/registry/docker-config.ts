import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { ImageError } from "../base/errors.ts";
import { parseJsonObject } from "../base/json.ts";
import { DEFAULT_REGISTRY } from "../image/image-name.ts";
import { credentialHelper, type HelperOptions } from "./credential-helper.ts";
import type { Credentials } from "./credentials.ts";
import { authsOf, type DockerAuths, entriesOf, matchRegistry } from "./docker-auths.ts";

/** Configs with dozens of registries are much smaller. */
const MAX_CONFIG_BYTES = 1024 * 1024;
/** Docker's key for the credentials of Docker Hub. */
const DOCKER_HUB_KEY = "https://index.docker.io/v1/";

/** The fields of a docker config file for credentials. */
export interface DockerConfig {
  /** By registry, as spelled in the file. */
  readonly auths: DockerAuths;
  /** Helper programs (`docker-credential-NAME`) by registry. */
  readonly credHelpers: ReadonlyMap<string, string>;
  /** The helper for all other registries. */
  readonly credsStore: string | undefined;
}

export interface DockerCredentialsOptions extends HelperOptions {
  /** The file. Default: `$DOCKER_CONFIG/config.json`, else `~/.docker/config.json`. */
  readonly file?: string | undefined;
}

/**
 * Credentials of `docker login`: `credHelpers`, `credsStore` and `auths` of the docker config file. Reads the file
 * for each request. A missing file has no credentials.
 */
export function dockerCredentials(options: DockerCredentialsOptions = {}): Credentials {
  return async (request) => {
    const file = options.file ?? defaultFile(options.env ?? process.env);
    const text = file === undefined ? undefined : readConfig(file);
    if (file === undefined || text === undefined) return undefined;
    const config = parseDockerConfig(text, file);
    const { registry, repository } = request;
    const helper = matchRegistry(config.credHelpers, registry, repository) ?? config.credsStore;
    if (helper !== undefined) {
      const key = registry === DEFAULT_REGISTRY ? DOCKER_HUB_KEY : registry;
      const found = await credentialHelper(helper, key, { ...options, signal: request.signal });
      if (found !== undefined) return found;
    }
    return matchRegistry(config.auths, registry, repository);
  };
}

/** @throws ImageError InvalidCredentials, whose message contains nothing of the file */
export function parseDockerConfig(text: string, file: string): DockerConfig {
  const config = parseJsonObject(text);
  if (config === undefined) throw invalid(file, "not a JSON object");
  const { auths, credsStore } = config;
  const credHelpers = new Map<string, string>();
  for (const [key, helper] of entriesOf(config["credHelpers"])) {
    if (typeof helper === "string") credHelpers.set(key, helper);
  }
  return {
    auths: authsOf(auths),
    credHelpers,
    credsStore: typeof credsStore === "string" && credsStore !== "" ? credsStore : undefined,
  };
}

function defaultFile(env: NodeJS.ProcessEnv): string | undefined {
  const { DOCKER_CONFIG: folder, HOME: home } = env;
  if (folder !== undefined && folder !== "") return join(folder, "config.json");
  if (home !== undefined) return isAbsolute(home) ? join(home, ".docker", "config.json") : undefined;
  try {
    return join(homedir(), ".docker", "config.json");
  } catch {
    // A user without a home directory has no file either.
    return undefined;
  }
}

function readConfig(file: string): string | undefined {
  try {
    const stats = statSync(file);
    // Reading a FIFO would block.
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

function invalid(file: string, why: string): ImageError {
  return new ImageError("InvalidCredentials", `cannot read the credentials in ${file}: ${why}`);
}
