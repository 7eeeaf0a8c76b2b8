import { ImageError } from "../base/errors.ts";
import { changeAuths, readAuths } from "./auths-file.ts";
import { credentialFiles, dockerConfigFile } from "./credential-files.ts";
import { eraseWithHelper, type HelperOptions, storeWithHelper } from "./credential-helper.ts";
import { keysOf } from "./docker-auths.ts";
import { readDockerConfig, serverOf } from "./docker-config.ts";

/** A registry, or a part of it: `registry.example.org`, or `registry.example.org/team`. */
export interface CredentialScope {
  /** As image names spell it. */
  readonly registry: string;
  /** The repositories below this path; absent for all. */
  readonly path?: string | undefined;
}

export interface StoreCredentialsOptions extends HelperOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Stores credentials as `docker login` and `podman login` do: with the helper that the file names, else in the file.
 * That is the file that already has an entry for the scope, else `REGISTRY_AUTH_FILE` or the file of Docker.
 *
 * @returns the changed file, or the program of the helper
 * @throws ImageError InvalidCredentials if the file is damaged, or others can read or write it
 */
export async function storeCredentials(
  given: CredentialScope,
  login: { readonly username: string; readonly password: string },
  options: StoreCredentialsOptions = {},
): Promise<string> {
  const { env = process.env } = options;
  const scope = normalScope(given);
  const key = keyOf(scope);
  const files = credentialFiles(env);
  const known = files.find((file) => !file.legacy && entriesIn(readDockerConfig(file)?.auths, scope).length > 0);
  const file = known ?? (files.length === 1 ? files[0] : dockerConfigFile(env));
  if (file === undefined)
    throw new ImageError(
      "InvalidCredentials",
      "there is no file for credentials: set HOME, DOCKER_CONFIG or REGISTRY_AUTH_FILE",
    );
  const config = readDockerConfig(file);
  // A helper knows servers, and no paths.
  const helper = scope.path === undefined ? (config?.credHelpers.get(key) ?? config?.credsStore) : undefined;
  if (helper !== undefined) {
    await storeWithHelper(helper, key, login, options);
    return `docker-credential-${helper}`;
  }
  const auth = Buffer.from(`${login.username}:${login.password}`, "utf8").toString("base64");
  await changeAuths(
    file,
    (auths) => {
      // Docker would use the exact key, and others the first one.
      for (const entry of entriesIn(auths, scope)) auths.delete(entry);
      auths.set(key, { auth });
    },
    options.signal,
  );
  return file.path;
}

/**
 * Removes the credentials of a scope from all files and their helpers.
 *
 * @returns the changed files and the programs of helpers; none if there were no credentials
 * @throws ImageError InvalidCredentials
 */
export async function removeCredentials(
  given: CredentialScope,
  options: StoreCredentialsOptions = {},
): Promise<readonly string[]> {
  const scope = normalScope(given);
  const key = keyOf(scope);
  const changed: string[] = [];
  for (const file of credentialFiles(options.env)) {
    const config = readDockerConfig(file);
    if (config === undefined) continue;
    const helper = scope.path === undefined ? (config.credHelpers.get(key) ?? config.credsStore) : undefined;
    if (helper !== undefined && (await eraseWithHelper(helper, key, options)))
      changed.push(`docker-credential-${helper}`);
    if (entriesIn(readAuths(file), scope).length === 0) continue;
    const remove = (auths: Map<string, unknown>): void => {
      for (const entry of entriesIn(auths, scope)) auths.delete(entry);
    };
    await changeAuths(file, remove, options.signal);
    changed.push(file.path);
  }
  return changed;
}

/** `HOST/v1` and `HOST/v2` mean the registry: Docker wrote the version of its API to the keys. */
function normalScope({ registry, path }: CredentialScope): CredentialScope {
  return path === undefined || path === "v1" || path === "v2" ? { registry } : { registry, path };
}

function entriesIn(
  auths: ReadonlyMap<string, unknown> | undefined,
  { registry, path }: CredentialScope,
): readonly string[] {
  return auths === undefined ? [] : keysOf(auths, registry, path);
}

function keyOf({ registry, path }: CredentialScope): string {
  return path === undefined ? serverOf(registry) : `${registry}/${path}`;
}
