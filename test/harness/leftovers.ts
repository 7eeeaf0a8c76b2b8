import { existsSync, readdirSync, readFileSync } from "node:fs";
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
const GRACE_MS = 60_000;
const POLL_MS = 50;

/** Records the state before a test. @param root the folder of its workspace */
export async function before(root: string): Promise<Before> {
  return { root, seen: new Set(lookAround(root)) };
}

/**
 * Returns one line for each leak of a test: processes that refer to the workspace (by command line, environment,
 * current directory or mounts), mounts, temporary files, cgroups, containers. `expect(await
 * leftovers(before)).toEqual([])`.
 */
export async function leftovers(state: Before, options: { graceMs?: number } = {}): Promise<string[]> {
  const end = Date.now() + (options.graceMs ?? GRACE_MS);
  for (;;) {
    const left = lookAround(state.root).filter((thing) => !state.seen.has(thing));
    if (left.length === 0 || Date.now() > end) return left;
    await sleep(POLL_MS);
  }
}

// Each test looks around several times, at hundreds of processes. Promises for each file take five times the processor
// time.
function lookAround(root: string): string[] {
  return [
    ...processes(root),
    ...mounts(root),
    ...ownGroups().flatMap((folder) => cgroups(folder, root)),
    ...[join(root, "tmp"), ...RUNTIME_FOLDERS].flatMap(entries),
    // crun's temporary files, in its default directory.
    ...entries("/tmp").filter((file) => file.startsWith("file: /tmp/crun.")),
  ];
}

function processes(root: string): string[] {
  const pids = names("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.flatMap((pid) => {
    if (!["cmdline", "environ", "mountinfo"].some((file) => text(`/proc/${pid}/${file}`).includes(root))) return [];
    // A zombie has exited. Its parent, or init, reaps it.
    if (/^State:\s+Z/m.test(text(`/proc/${pid}/status`))) return [];
    return [`process ${pid}: ${text(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim().slice(0, 200)}`];
  });
}

function mounts(root: string): string[] {
  const lines = text("/proc/self/mountinfo").split("\n");
  return lines.filter((line) => line.includes(root) || line.includes(" /run/xfn")).map((line) => `mount: ${line}`);
}

const CGROUPS = "/sys/fs/cgroup";

/** The groups of this process, in which xfn makes its own. Programs in other groups of the machine may leave some. */
function ownGroups(): string[] {
  const isV2 = existsSync(`${CGROUPS}/cgroup.controllers`);
  return text("/proc/self/cgroup")
    .split("\n")
    .flatMap((line) => {
      // `4:memory:/path`, `9:name=systemd:/path`, or `0::/path` for version 2: cgroups(7).
      const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
      if (controllers === undefined || path === undefined) return [];
      const hierarchy = controllers === "" ? (isV2 ? "" : "unified") : controllers.replace(/^name=/, "");
      // xfn moves its own process to this group to divide the group above it.
      return join(CGROUPS, hierarchy, path.replace(/\/xfn-supervisor$/, ""));
    });
}

// Groups are nested below the group of the tests.
function cgroups(folder: string, root: string, depth = 0): string[] {
  let folders: string[];
  try {
    folders = readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));
  } catch {
    return [];
  }
  return folders.flatMap((name) => {
    if (isAnothers(name, root)) return [];
    const path = join(folder, name);
    // The group of xfn itself stays.
    const ours = name.startsWith("xfn-") && name !== "xfn-supervisor" ? [`cgroup: ${path}`] : [];
    return depth < 8 ? [...ours, ...cgroups(path, root, depth + 1)] : ours;
  });
}

// Tests run in parallel, and the groups of each call are named `xfn-PID-STARTED-...` after the process that created
// them. Groups of a live process that does not refer to the workspace belong to another test, except those of this
// process.
function isAnothers(group: string, root: string): boolean {
  const [, pid, started] = /^xfn-(\d+)-(\d+)-/.exec(group) ?? [];
  if (pid === undefined || Number(pid) === process.pid) return false;
  // The third field follows the name, which may contain any character. The 22nd field is the start time (proc(5)).
  const lives =
    text(`/proc/${pid}/stat`)
      .replace(/^.*\) /s, "")
      .split(" ")[19] === started;
  return lives && !["cmdline", "environ"].some((file) => text(`/proc/${pid}/${file}`).includes(root));
}

function entries(folder: string): string[] {
  return names(folder).map((name) => `file: ${join(folder, name)}`);
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
