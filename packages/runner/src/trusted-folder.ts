import { readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "@xfn/errors";

/**
 * Why another user can change the content of this folder, or replace the folder. The user owns the folder or one of its
 * parents, or can write to it. The programs run code from some of their folders.
 *
 * @returns undefined if only this user and root can change it
 */
export function distrust(folder: string): string | undefined {
  let real: string;
  try {
    real = realpathSync(folder);
  } catch (error) {
    return messageOf(error);
  }
  const own = statSync(real);
  if (own.uid !== process.geteuid?.()) return `${real} belongs to user ${own.uid}`;
  if (isSharedWrite(own)) return `other users can write to ${real}`;
  for (let path = dirname(real); ; path = dirname(path)) {
    const stats = statSync(path);
    if (!isTrustedOwner(stats.uid)) return `${path} belongs to user ${stats.uid}`;
    if (isSharedWrite(stats) && (stats.mode & STICKY) === 0) return `other users can write to ${path}`;
    if (path === dirname(path)) return undefined;
  }
}

/** In a folder with this bit, users can replace only their own files. */
const STICKY = 0o1000;

// Many systems give each user a separate group, which may then write.
function isSharedWrite({ mode, gid }: Stats): boolean {
  return (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== process.getegid?.());
}

/** The owner of files whose user is not mapped into this user namespace, such as root's in a rootless container. */
const OVERFLOW_UID = 65_534;

function isTrustedOwner(uid: number): boolean {
  return uid === 0 || uid === process.geteuid?.() || (uid === OVERFLOW_UID && !hasAllUsers());
}

function hasAllUsers(): boolean {
  try {
    return /^\s*0\s+0\s+4294967295\s*$/.test(readFileSync("/proc/self/uid_map", "utf8"));
  } catch {
    return true;
  }
}
