import { readFileSync, statSync } from "node:fs";
import type { RegistryAuth } from "@xfn/runner-contract";
import { ImageError } from "../base/errors.ts";
import { parseJsonObject } from "../base/json.ts";
import { DEFAULT_REGISTRY } from "../image/image-name.ts";
import { type CredentialFile, credentialFiles } from "./credential-files.ts";
import { credentialHelper, type HelperOptions } from "./credential-helper.ts";
import type { CredentialRequest, Credentials } from "./credentials.ts";
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
  /** The only file to read. Default: those of Podman and Docker, in the order of `credentialFiles`. */
  readonly file?: string | undefined;
}

/**
 * Credentials of `docker login`, `podman login` and `xfn login`: `credHelpers`, `credsStore` and `auths` of their
 * files. Reads the files for each request. A missing file has no credentials.
 */
export function dockerCredentials(options: DockerCredentialsOptions = {}): Credentials {
  return async (request) => {
    const files = options.file === undefined ? credentialFiles(options.env) : [{ path: options.file }];
    let failure: unknown;
    for (const file of files) {
      try {
        const found = await credentialsIn(file, request, options);
        if (found !== undefined) return found;
      } catch (error) {
        if (request.signal.aborted) throw error;
        // Another file may have the entry.
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return undefined;
  };
}

async function credentialsIn(
  file: CredentialFile,
  { registry, repository, signal }: CredentialRequest,
  options: DockerCredentialsOptions,
): Promise<RegistryAuth | undefined> {
  const config = readDockerConfig(file);
  if (config === undefined) return undefined;
  const helper = matchRegistry(config.credHelpers, registry, repository) ?? config.credsStore;
  if (helper !== undefined) {
    const found = await credentialHelper(helper, serverOf(registry), { ...options, signal });
    if (found !== undefined) return found;
  }
  return matchRegistry(config.auths, registry, repository);
}

/** The name by which helpers and files know a registry. */
export function serverOf(registry: string): string {
  return registry === DEFAULT_REGISTRY ? DOCKER_HUB_KEY : registry;
}

/** Reads a file; undefined if it is missing. @throws ImageError InvalidCredentials */
export function readDockerConfig({ path, legacy = false, shared = false }: CredentialFile): DockerConfig | undefined {
  const text = readConfig(path, shared);
  return text === undefined ? undefined : parseDockerConfig(legacy ? `{"auths":${text}}` : text, path);
}

/** @throws ImageError InvalidCredentials, whose message contains nothing of the file */
export function parseDockerConfig(text: string, file: string): DockerConfig {
  const config = parseJsonObject(text);
  if (config === undefined) throw invalidFile(file, "not a JSON object");
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

/** The text of a file; undefined if it is missing. @throws ImageError InvalidCredentials */
export function readConfig(file: string, shared = false): string | undefined {
  try {
    const stats = statSync(file);
    // Reading a FIFO would block.
    if (!stats.isFile()) throw invalidFile(file, "not a regular file");
    if (stats.size > MAX_CONFIG_BYTES) throw invalidFile(file, `more than ${MAX_CONFIG_BYTES} bytes`);
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof ImageError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || (shared && code === "EACCES")) return undefined;
    throw invalidFile(file, message);
  }
}

export function invalidFile(file: string, why: string): ImageError {
  return new ImageError("InvalidCredentials", `cannot read the credentials in ${file}: ${why}`);
}
