import { accessSync, constants, existsSync, lstatSync, mkdirSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { distrust } from "./trusted-folder.ts";

/**
 * The directory of images and compiled code: `$XDG_CACHE_HOME/xfn`, else `~/.cache/xfn`, else a private directory in
 * the temporary directory (a uid without a passwd entry has no home). A directory that another user can change is not
 * used.
 *
 * @throws Error if another user can change the directory in XDG_CACHE_HOME or in the temporary directory
 * @see https://specifications.freedesktop.org/basedir-spec/latest/
 */
export function cacheDir(env: NodeJS.ProcessEnv = process.env): string {
  const xdg = env["XDG_CACHE_HOME"];
  // The specification ignores relative paths, which would depend on the working directory.
  if (xdg !== undefined && isAbsolute(xdg)) return ownFolder(join(xdg, "xfn"));
  const home = homeOf(env);
  if (home !== undefined) {
    // HOME may belong to another user (`sudo`, `setpriv --reuid`, a container's arbitrary uid).
    const dir = join(home, ".cache");
    const usable = distrust(home) === undefined && canCreate(dir) && canCreate(join(dir, "xfn"));
    if (usable && distrust(join(dir, "xfn")) === undefined) return join(dir, "xfn");
  }
  return privateTemporaryFolder();
}

/** The directory of compiled code below {@link cacheDir}; undefined if it cannot be created. */
export function compiledCodeDir(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const dir = cacheDir(env);
  const compiled = join(dir, "compiled");
  const usable = canCreate(dirname(dir)) && canCreate(dir) && canCreate(compiled);
  // Node would execute code that another user puts there.
  return usable && distrust(compiled) === undefined ? compiled : undefined;
}

function ownFolder(dir: string): string {
  // Create it before the check: otherwise another user who can change its parent could create it between the check and
  // its first use.
  if (!canMake(dir)) return dir;
  const reason = distrust(dir);
  if (reason === undefined) return dir;
  throw new Error(`${dir} is not safe as a cache: ${reason}; set XDG_CACHE_HOME to a directory of your own`);
}

/** Creates a folder and its parents. Returns false if that fails: the first use of the folder reports why. */
function canMake(dir: string): boolean {
  if (existsSync(dir)) return true;
  const parent = dirname(dir);
  return parent !== dir && canMake(parent) && canCreate(dir);
}

function canCreate(dir: string): boolean {
  try {
    // Not `recursive`: with it Node never returns if the kernel answers ENOENT to every mkdir, as in /proc. Not
    // writable for others under any umask, because such a folder would be rejected.
    mkdirSync(dir, { mode: 0o755 });
    return true;
  } catch {
    return isWritableFolder(dir);
  }
}

function isWritableFolder(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function homeOf(env: NodeJS.ProcessEnv): string | undefined {
  const home = env["HOME"];
  if (home !== undefined && isAbsolute(home) && home !== "/nonexistent") return home;
  try {
    const fromPasswd = homedir();
    return isAbsolute(fromPasswd) && fromPasswd !== "/" && fromPasswd !== "/nonexistent" ? fromPasswd : undefined;
  } catch {
    return undefined;
  }
}

// The name is predictable, so another user may have created the directory first to inject code.
function privateTemporaryFolder(): string {
  const uid = process.getuid?.() ?? 0;
  const dir = join(tmpdir(), `xfn-${uid}`);
  let cause: unknown;
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (error) {
    if (!existsSync(dir)) throw error;
    cause = error;
  }
  const stat = lstatSync(dir);
  if (!stat.isDirectory() || stat.uid !== uid || (stat.mode & 0o077) !== 0 || distrust(dir) !== undefined)
    throw new Error(`${dir} is not a private directory of this user: set XDG_CACHE_HOME to a private directory`, {
      cause,
    });
  return dir;
}
