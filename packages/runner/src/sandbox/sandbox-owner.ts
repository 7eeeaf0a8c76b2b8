import { readFileSync } from "node:fs";

/** One user and group id of the host. */
export interface HostId {
  uid: number;
  gid: number;
}

/**
 * The host id behind the functions of a runner that is root. It lies above the ranges that systemd gives to containers
 * (up to 1,879,048,191) and that shadow-utils gives to users as subordinate ids, so that it is nobody else's.
 */
export const SANDBOX_HOST_ID = 1_900_000_000;

/**
 * Who owns unpacked layers and runs functions: an ordinary user's functions run as that user inside their own user
 * namespace (undefined: nothing to change); root's functions run as an id that owns nothing else.
 *
 * @param uid - the runner's effective uid
 * @param uidMap - the text of `/proc/self/uid_map`; a runner that is root only inside a container may have few ids
 */
export function sandboxOwner(
  uid: number = process.geteuid?.() ?? 0,
  uidMap: string = readUidMap(),
): HostId | undefined {
  if (uid !== 0) return undefined;
  const extents = uidMap
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(
      (numbers): numbers is [number, number, number] => numbers.length === 3 && numbers.every(Number.isSafeInteger),
    );
  const mapped = (id: number): boolean => extents.some(([first, , count]) => id >= first && id < first + count);
  if (extents.length === 0 || mapped(SANDBOX_HOST_ID)) return { uid: SANDBOX_HOST_ID, gid: SANDBOX_HOST_ID };
  // Inside somebody's user namespace: its last id is the least likely to be used; where there is only id 0, that one is
  // an ordinary user outside.
  const last = Math.max(...extents.map(([first, , count]) => first + count - 1));
  return last === 0 ? undefined : { uid: last, gid: last };
}

function readUidMap(): string {
  try {
    return readFileSync("/proc/self/uid_map", "utf8");
  } catch {
    return "";
  }
}
