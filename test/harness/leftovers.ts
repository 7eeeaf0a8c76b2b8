import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

/** The state before a test. */
export interface Before {
  readonly root: string;
  readonly seen: ReadonlySet<string>;
}

// Folders with files that last for one call: the runner's own, and crun's container state.
const RUNTIME_FOLDERS = ["/run/xfn", "/run/crun", `/run/user/${process.getuid?.() ?? 0}/crun`];

// The kernel ends the processes of a killed namespace, and frees its mounts and cgroups, soon after its first process
// exits. Anything that remains after this time is a leak.
const GRACE_MS = 10_000;
const POLL_MS = 50;

/** Records the state before a test. @param root the folder of its workspace */
export async function before(root: string): Promise<Before> {
  return { root, seen: new Set(await lookAround(root)) };
}

/**
 * Returns one line for each leak of a test: processes that refer to the workspace (by command line, environment,
 * current directory or mounts), mounts, temporary files, cgroups, containers. `expect(await
 * leftovers(before)).toEqual([])`.
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
    // crun's temporary files, in its default directory.
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
      // A zombie has exited. Its parent, or init, reaps it.
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

// Groups are nested below the group of the tests.
async function cgroups(folder: string, root: string, depth = 0): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = await Promise.all(
    entries.map(async (entry) => {
      if (!entry.isDirectory() || (await isAnothers(entry.name, root))) return [];
      const path = join(folder, entry.name);
      // xfn moves its own process to a child group to divide a delegated group. That child group stays.
      const ours = entry.name.startsWith("xfn-") && entry.name !== "xfn-supervisor" ? [`cgroup: ${path}`] : [];
      return depth < 8 ? [...ours, ...(await cgroups(path, root, depth + 1))] : ours;
    }),
  );
  return found.flat();
}

// Tests run in parallel, and the groups of each call are named `xfn-PID-STARTED-...` after the process that created
// them. Groups of a live process that does not refer to the workspace belong to another test, except those of this
// process.
async function isAnothers(group: string, root: string): Promise<boolean> {
  const [, pid, started] = /^xfn-(\d+)-(\d+)-/.exec(group) ?? [];
  if (pid === undefined || Number(pid) === process.pid) return false;
  const [stat, command, environment] = await Promise.all(
    ["stat", "cmdline", "environ"].map(async (file) => await text(`/proc/${pid}/${file}`)),
  );
  // The third field follows the name, which may contain any character. The 22nd field is the start time (proc(5)).
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
