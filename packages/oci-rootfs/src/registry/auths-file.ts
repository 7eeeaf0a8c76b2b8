import { lstatSync, mkdirSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ImageError } from "../base/errors.ts";
import { type Fields, isObject, parseJsonObject } from "../base/json.ts";
import { removeAbandonedLock, takeLock } from "../base/link-lock.ts";
import { ownName } from "../base/process-identity.ts";
import type { CredentialFile } from "./credential-files.ts";
import { invalidFile, readConfig } from "./docker-config.ts";

/** A change takes a millisecond. */
const LOCK_WAIT_MS = 10_000;
const LOCK_STEP_MS = 10;

/** The `auths` of a file, with entries without credentials; empty if the file is missing. */
export function readAuths({ path, legacy = false, shared = false }: CredentialFile): Map<string, unknown> {
  return authsOf(fieldsOf(readConfig(path, shared), path), legacy);
}

/**
 * Replaces the `auths` of a file in one step. Other fields stay. A lock file preserves the changes of other processes
 * of xfn. Docker does not lock the file: if it changes the file meanwhile, the file is read again.
 *
 * @throws ImageError InvalidCredentials
 */
export async function changeAuths(
  { path, legacy = false }: CredentialFile,
  change: (auths: Map<string, unknown>) => void,
  signal?: AbortSignal,
): Promise<void> {
  const file = writableFile(path);
  const lock = `${file}.lock`;
  await waitForLock(lock, file, signal);
  const temporary = `${file}.${ownName()}.new`;
  try {
    let text: string | undefined;
    do {
      text = readConfig(file);
      const config = fieldsOf(text, file);
      const auths = authsOf(config, legacy);
      change(auths);
      const entries = Object.fromEntries(auths);
      const changed = JSON.stringify(legacy ? entries : { ...config, auths: entries }, undefined, "\t");
      rmSync(temporary, { force: true });
      writeFileSync(temporary, `${changed}\n`, { mode: 0o600, flag: "wx" });
    } while (readConfig(file) !== text);
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error instanceof ImageError ? error : cannotWrite(file, (error as Error).message, error);
  } finally {
    rmSync(lock, { force: true });
  }
}

async function waitForLock(lock: string, file: string, signal: AbortSignal | undefined): Promise<void> {
  const take = (): boolean => {
    try {
      return takeLock(lock);
    } catch (error) {
      throw cannotWrite(file, (error as Error).message, error);
    }
  };
  for (let waited = 0; !take(); waited += LOCK_STEP_MS) {
    if (removeAbandonedLock(lock)) continue;
    if (waited >= LOCK_WAIT_MS)
      throw cannotWrite(file, `another process changes it; if no process does, remove ${lock}`);
    await delay(LOCK_STEP_MS, undefined, { ...(signal && { signal }) });
  }
}

function fieldsOf(text: string | undefined, file: string): Fields {
  const config = text === undefined ? {} : parseJsonObject(text);
  if (config === undefined) throw invalidFile(file, "not a JSON object");
  return config;
}

function authsOf(config: Fields, legacy: boolean): Map<string, unknown> {
  const found = legacy ? config : config["auths"];
  return new Map(Object.entries(isObject(found) ? found : {}));
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
    throw error instanceof ImageError ? error : cannotWrite(path, (error as Error).message, error);
  }
}

function cannotWrite(file: string, why: string, cause?: unknown): ImageError {
  return new ImageError("InvalidCredentials", `cannot store credentials in ${file}: ${why}`, { cause });
}
