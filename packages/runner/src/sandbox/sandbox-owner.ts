import { readText } from "../base/read-text.ts";

/** One user and group id of the host. */
export interface HostId {
  uid: number;
  gid: number;
}

/**
 * The host id of functions whose runner is root. Other programs do not use it: it is above the ranges of systemd's
 * containers (up to 1,879,048,191) and of shadow-utils' subordinate ids.
 */
export const SANDBOX_HOST_ID = 1_900_000_000;

/**
 * The owner of unpacked layers and functions. An ordinary user's functions run as that user in their own user
 * namespace (undefined: no change of owner). Root's functions run as an id that owns nothing else.
 *
 * @param uid the runner's effective uid
 * @param uidMap the text of `/proc/self/uid_map`; a runner that is root only inside a container may have few ids
 */
export function sandboxOwner(
  uid: number = process.geteuid?.() ?? 0,
  uidMap: string = readText("/proc/self/uid_map"),
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
  // Inside another user namespace, the last id is the least likely to be in use. If the namespace has only id 0, that
  // is an ordinary user outside.
  const last = Math.max(...extents.map(([first, , count]) => first + count - 1));
  return last === 0 ? undefined : { uid: last, gid: last };
}
