import { accessSync, constants, lstatSync, mkdirSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

/**
 * Where xfn and xfn-runner keep images and compiled code: `$XDG_CACHE_HOME/xfn`, else `~/.cache/xfn`, else a private folder in the
 * temporary directory (a uid without a passwd entry has no home).
 *
 * @see https://specifications.freedesktop.org/basedir-spec/latest/
 */
export function cacheDir(env: NodeJS.ProcessEnv = process.env): string {
  const xdg = env["XDG_CACHE_HOME"];
  // The specification says to ignore relative paths: they would mean another place in every folder.
  if (xdg !== undefined && isAbsolute(xdg)) return join(xdg, "xfn");
  const home = homeOf(env);
  if (home !== undefined) {
    // HOME may be another user's (`setpriv --reuid`, a container's arbitrary uid).
    const dir = join(home, ".cache");
    if (canCreate(dir) && canCreate(join(dir, "xfn"))) return join(dir, "xfn");
  }
  return privateTemporaryFolder();
}

/** Where compiled code is kept, below {@link cacheDir}; undefined where that is not there and cannot be made. */
export function compiledCodeDir(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const dir = cacheDir(env);
  return canCreate(dirname(dir)) && canCreate(dir) ? join(dir, "compiled") : undefined;
}

function canCreate(dir: string): boolean {
  try {
    // Not `recursive`: with it Node never returns where the kernel answers ENOENT to every mkdir, as in /proc.
    mkdirSync(dir);
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

// The name can be guessed, so another user may have made it first to have us run what they put there.
function privateTemporaryFolder(): string {
  const uid = process.getuid?.() ?? 0;
  const dir = join(tmpdir(), `xfn-${uid}`);
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (error) {
    const stat = lstatSync(dir, { throwIfNoEntry: false });
    if (stat === undefined) throw error;
    if (!stat.isDirectory() || stat.uid !== uid || (stat.mode & 0o077) !== 0) {
      throw new Error(`${dir} is not a private folder of this user: set XDG_CACHE_HOME to a folder of your own`, {
        cause: error,
      });
    }
  }
  return dir;
}
