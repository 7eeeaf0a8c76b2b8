import { lstatSync, mkdirSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { ImageError } from "../base/errors.ts";
import { isObject, parseJsonObject } from "../base/json.ts";
import { credentialFiles, dockerConfigFile } from "./credential-files.ts";
import { eraseWithHelper, type HelperOptions, storeWithHelper } from "./credential-helper.ts";
import { keysOf } from "./docker-auths.ts";
import { type DockerConfig, invalidFile, readConfig, readDockerConfig, serverOf } from "./docker-config.ts";

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
  scope: CredentialScope,
  login: { readonly username: string; readonly password: string },
  options: StoreCredentialsOptions = {},
): Promise<string> {
  const { env = process.env } = options;
  const key = keyOf(scope);
  const files = credentialFiles(env);
  const known = files.find((file) => !file.legacy && hasEntry(readDockerConfig(file), scope));
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
  changeAuths(file.path, (auths) => auths.set(keysOf(auths, scope.registry, scope.path)[0] ?? key, { auth }));
  return file.path;
}

/**
 * Removes the credentials of a scope from all files and their helpers.
 *
 * @returns the changed files and the programs of helpers; none if there were no credentials
 * @throws ImageError InvalidCredentials
 */
export async function removeCredentials(
  scope: CredentialScope,
  options: StoreCredentialsOptions = {},
): Promise<readonly string[]> {
  const key = keyOf(scope);
  const changed: string[] = [];
  for (const file of credentialFiles(options.env)) {
    const config = readDockerConfig(file);
    if (config === undefined) continue;
    const helper = scope.path === undefined ? (config.credHelpers.get(key) ?? config.credsStore) : undefined;
    if (helper !== undefined && (await eraseWithHelper(helper, key, options)))
      changed.push(`docker-credential-${helper}`);
    if (!hasEntry(config, scope)) continue;
    changeAuths(
      file.path,
      (auths) => {
        for (const entry of keysOf(auths, scope.registry, scope.path)) auths.delete(entry);
      },
      file.legacy,
    );
    changed.push(file.path);
  }
  return changed;
}

function hasEntry(config: DockerConfig | undefined, { registry, path }: CredentialScope): boolean {
  return config !== undefined && keysOf(config.auths, registry, path).length > 0;
}

function keyOf({ registry, path }: CredentialScope): string {
  return path === undefined ? serverOf(registry) : `${registry}/${path}`;
}

/** Replaces the `auths` of a file in one step. Other fields stay. */
function changeAuths(path: string, change: (auths: Map<string, unknown>) => void, legacy = false): void {
  const file = writableFile(path);
  const text = readConfig(file);
  const config = text === undefined ? {} : parseJsonObject(text);
  if (config === undefined) throw invalidFile(file, "not a JSON object");
  const found = legacy ? config : config["auths"];
  const auths = new Map(Object.entries(isObject(found) ? found : {}));
  change(auths);
  const entries = Object.fromEntries(auths);
  const changed = JSON.stringify(legacy ? entries : { ...config, auths: entries }, undefined, "\t");
  const temporary = `${file}.${process.pid}.new`;
  try {
    writeFileSync(temporary, `${changed}\n`, { mode: 0o600, flag: "wx" });
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw cannotWrite(file, (error as Error).message);
  }
}

/**
 * The file that a path leads to, through links. Creates its folder.
 *
 * @throws ImageError InvalidCredentials if another user could read or replace the credentials
 */
function writableFile(path: string): string {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const file = lstatSync(path, { throwIfNoEntry: false }) === undefined ? path : realpathSync(path);
    const stats = statSync(file, { throwIfNoEntry: false });
    const user = process.geteuid?.();
    if (stats !== undefined) {
      if (!stats.isFile()) throw cannotWrite(file, "it is not a regular file");
      if (stats.uid !== user) throw cannotWrite(file, `it belongs to user ${stats.uid}`);
      if ((stats.mode & 0o077) !== 0)
        throw cannotWrite(file, `other users can read or write it; \`chmod 600 ${file}\` prevents that`);
    }
    const folder = statSync(dirname(file));
    if ((folder.uid !== user && folder.uid !== 0) || ((folder.mode & 0o022) !== 0 && (folder.mode & 0o1000) === 0))
      throw cannotWrite(file, `other users can replace it; \`chmod go-w ${dirname(file)}\` prevents that`);
    return file;
  } catch (error) {
    throw error instanceof ImageError ? error : cannotWrite(path, (error as Error).message);
  }
}

function cannotWrite(file: string, why: string): ImageError {
  return new ImageError("InvalidCredentials", `cannot store credentials in ${file}: ${why}`);
}
