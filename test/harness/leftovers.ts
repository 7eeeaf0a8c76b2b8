import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

/** What was there before a test. */
export interface Before {
  readonly root: string;
  readonly seen: ReadonlySet<string>;
}

// Folders in which a runner keeps something for the time of a call: its own, and crun's state of containers.
const RUNTIME_FOLDERS = ["/run/xfn", "/run/crun", `/run/user/${process.getuid?.() ?? 0}/crun`];

// The kernel ends the processes of a killed namespace, and frees its mounts and cgroups, a moment after its first process
// has gone. Something that is still there after this time has been forgotten.
const GRACE_MS = 10_000;
const POLL_MS = 50;

/** Looks around before a test; `root` is the folder of its workspace. */
export async function before(root: string): Promise<Before> {
  return { root, seen: new Set(await lookAround(root)) };
}

/**
 * What a test left behind, one line each: processes that know the workspace (by command line, environment, current
 * directory or mounts), mounts, temporary files, cgroups, containers. `expect(await leftovers(before)).toEqual([])`.
 */
export async function leftovers(state: Before, options: { graceMs?: number } = {}): Promise<string[]> {
  const end = Date.now() + (options.graceMs ?? GRACE_MS);
  for (;;) {
    const left = (await lookAround(state.root)).filter((thing) => !state.seen.has(thing));
    if (left.length === 0 || Date.now() > end) return left;
    await sleep(POLL_MS);
  }
}

async function lookAround(root: string): Promise<string[]> {
  const found = await Promise.all([
    processes(root),
    mounts(root),
    cgroups("/sys/fs/cgroup", root),
    ...[join(root, "tmp"), ...RUNTIME_FOLDERS].map(entries),
    // crun's own temporary files, where nobody tells it another place.
    entries("/tmp").then((files) => files.filter((file) => file.startsWith("file: /tmp/crun."))),
  ]);
  return found.flat();
}

async function processes(root: string): Promise<string[]> {
  const pids = (await names("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [command, environment, mountinfo, status] = await Promise.all(
        ["cmdline", "environ", "mountinfo", "status"].map(async (file) => await text(`/proc/${pid}/${file}`)),
      );
      // A zombie has ended; that its parent (or init) has yet to collect it is not ours.
      if (/^State:\s+Z/m.test(status ?? "")) return [];
      const knows = [command, environment, mountinfo].some((content) => content?.includes(root));
      return knows ? [`process ${pid}: ${command?.replaceAll("\0", " ").trim().slice(0, 200)}`] : [];
    }),
  );
  return found.flat();
}

async function mounts(root: string): Promise<string[]> {
  const lines = (await text("/proc/self/mountinfo")).split("\n");
  return lines.filter((line) => line.includes(root) || line.includes(" /run/xfn")).map((line) => `mount: ${line}`);
}

// Groups are nested below the one that the tests run in, wherever that is.
async function cgroups(folder: string, root: string, depth = 0): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = await Promise.all(
    entries.map(async (entry) => {
      if (!entry.isDirectory() || (await isAnothers(entry.name, root))) return [];
      const path = join(folder, entry.name);
      // The group that holds xfn's own process while it divides a delegated group stays as long as the group itself.
      const ours = entry.name.startsWith("xfn-") && entry.name !== "xfn-supervisor" ? [`cgroup: ${path}`] : [];
      return depth < 8 ? [...ours, ...(await cgroups(path, root, depth + 1))] : ours;
    }),
  );
  return found.flat();
}

// Tests run side by side, and each call has groups, named `xfn-PID-STARTED-...` for the process that made them. Those of a living
// process that does not know the workspace are another test's. (Our own process need not know it.)
async function isAnothers(group: string, root: string): Promise<boolean> {
  const [, pid, started] = /^xfn-(\d+)-(\d+)-/.exec(group) ?? [];
  if (pid === undefined || Number(pid) === process.pid) return false;
  const [stat, command, environment] = await Promise.all(
    ["stat", "cmdline", "environ"].map(async (file) => await text(`/proc/${pid}/${file}`)),
  );
  // After the name, which may have anything in it, comes the third field; the 22nd is when the process started.
  const lives = stat?.replace(/^.*\) /s, "").split(" ")[19] === started;
  return lives && ![command, environment].some((content) => content?.includes(root));
}

async function entries(folder: string): Promise<string[]> {
  return (await names(folder)).map((name) => `file: ${join(folder, name)}`);
}

async function names(folder: string): Promise<string[]> {
  return await readdir(folder).catch(() => []);
}

async function text(path: string): Promise<string> {
  return await readFile(path, "utf8").catch(() => "");
}
