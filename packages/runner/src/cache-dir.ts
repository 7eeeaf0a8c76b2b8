import { accessSync, constants, lstatSync, mkdirSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

/**
 * The directory of images and compiled code: `$XDG_CACHE_HOME/xfn`, else `~/.cache/xfn`, else a private directory in
 * the temporary directory (a uid without a passwd entry has no home).
 *
 * @see https://specifications.freedesktop.org/basedir-spec/latest/
 */
export function cacheDir(env: NodeJS.ProcessEnv = process.env): string {
  const xdg = env["XDG_CACHE_HOME"];
  // The specification ignores relative paths, which would depend on the working directory.
  if (xdg !== undefined && isAbsolute(xdg)) return join(xdg, "xfn");
  const home = homeOf(env);
  if (home !== undefined) {
    // HOME may be another user's (`setpriv --reuid`, a container's arbitrary uid).
    const dir = join(home, ".cache");
    if (canCreate(dir) && canCreate(join(dir, "xfn"))) return join(dir, "xfn");
  }
  return privateTemporaryFolder();
}

/** The directory of compiled code below {@link cacheDir}; undefined if it cannot be made. */
export function compiledCodeDir(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const dir = cacheDir(env);
  return canCreate(dirname(dir)) && canCreate(dir) ? join(dir, "compiled") : undefined;
}

function canCreate(dir: string): boolean {
  try {
    // Not `recursive`: with it Node never returns if the kernel answers ENOENT to every mkdir, as in /proc.
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

// The name is predictable, so another user may have made the directory first to inject code.
function privateTemporaryFolder(): string {
  const uid = process.getuid?.() ?? 0;
  const dir = join(tmpdir(), `xfn-${uid}`);
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (error) {
    const stat = lstatSync(dir, { throwIfNoEntry: false });
    if (stat === undefined) throw error;
    if (!stat.isDirectory() || stat.uid !== uid || (stat.mode & 0o077) !== 0) {
      throw new Error(`${dir} is not a private directory of this user: set XDG_CACHE_HOME to a private directory`, {
        cause: error,
      });
    }
  }
  return dir;
}
