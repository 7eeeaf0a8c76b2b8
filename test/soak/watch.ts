import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

/** The resources of a server. */
export interface ResourceUsage {
  /** Its processes and their descendants, without zombies. */
  processes: number;
  zombies: number;
  /** Threads of all these processes. */
  threads: number;
  /** Open descriptors of all these processes. */
  descriptors: number;
  /** Mounts in the mount namespaces that these processes created. */
  mounts: number;
  /** Cgroups with the server's name. */
  cgroups: number;
  /** Resident memory of all these processes, in MiB. */
  memoryMiB: number;
}

interface Seen {
  readonly pid: string;
  readonly parent: string;
  readonly state: string;
}

/** Measures a process and its descendants. */
async function usageOf(pid: number): Promise<ResourceUsage> {
  const all = await processes();
  const tree = below(String(pid), all);
  const alive = tree.filter(({ state }) => state !== "Z");
  const namespaces = new Map<string, string>();
  let [descriptors, threads] = [0, 0];
  let memoryKiB = 0;
  for (const { pid: each } of alive) {
    descriptors += (await readdir(`/proc/${each}/fd`).catch(() => [])).length;
    threads += (await readdir(`/proc/${each}/task`).catch(() => [])).length;
    memoryKiB += Number(/^VmRSS:\s+(\d+)/m.exec(await text(`/proc/${each}/status`))?.[1] ?? 0);
    namespaces.set(await readlink(`/proc/${each}/ns/mnt`).catch(() => each), each);
  }
  // Exclude our own mount namespace.
  namespaces.delete(await readlink("/proc/self/ns/mnt"));
  let mounts = 0;
  for (const each of namespaces.values()) mounts += (await text(`/proc/${each}/mountinfo`)).split("\n").length - 1;
  return {
    processes: alive.length,
    zombies: tree.length - alive.length,
    threads,
    descriptors,
    mounts,
    cgroups: await countCgroups("/sys/fs/cgroup", `xfn-${pid}-`),
    memoryMiB: memoryKiB / 1024,
  };
}

/**
 * The usage of an idle process. Measures until all counts of two consecutive measurements are equal, because the kernel
 * frees the resources of a killed container with a delay.
 */
export async function restingUsage(pid: number): Promise<ResourceUsage> {
  let before = await usageOf(pid);
  for (let look = 0; look < 40; look++) {
    await sleep(250);
    const now = await usageOf(pid);
    const { memoryMiB: _, ...counts } = now;
    if (Object.entries(counts).every(([name, count]) => before[name as keyof ResourceUsage] === count)) return now;
    before = now;
  }
  return before;
}

/** Kills all processes with this command line, which must be unique to the test, until `ending` settles. */
export async function killUntil(ending: Promise<unknown>, command: readonly string[]): Promise<void> {
  let ended = false;
  const end = (): void => {
    ended = true;
  };
  void ending.then(end, end);
  while (!ended) {
    for (const pid of await processesOf(command)) {
      try {
        process.kill(pid, "SIGKILL");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
    await sleep(10);
  }
}

/** The processes with this command line, in containers too. */
export async function processesOf(command: readonly string[]): Promise<number[]> {
  const wanted = `${command.join("\0")}\0`;
  const found = await Promise.all(
    (await pids()).map(async (pid) => ((await text(`/proc/${pid}/cmdline`)) === wanted ? [Number(pid)] : [])),
  );
  return found.flat();
}

async function processes(): Promise<Seen[]> {
  const found = await Promise.all(
    (await pids()).map(async (pid): Promise<Seen[]> => {
      // Fields follow the name, which may contain any character.
      const [state, parent] = (await text(`/proc/${pid}/stat`)).replace(/^.*\) /s, "").split(" ");
      return state === undefined || parent === undefined ? [] : [{ pid, parent, state }];
    }),
  );
  return found.flat();
}

function below(pid: string, all: readonly Seen[]): Seen[] {
  const own = all.filter((each) => each.pid === pid);
  const children = all.filter((each) => each.parent === pid);
  return [...own, ...children.flatMap((child) => below(child.pid, all))];
}

async function pids(): Promise<string[]> {
  return (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
}

async function countCgroups(folder: string, prefix: string, depth = 0): Promise<number> {
  if (depth > 8) return 0;
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  let count = 0;
  for (const entry of entries) {
    if (!entry.isDirectory()) continue;
    if (entry.name.startsWith(prefix)) count++;
    count += await countCgroups(join(folder, entry.name), prefix, depth + 1);
  }
  return count;
}

async function text(path: string): Promise<string> {
  return await readFile(path, "utf8").catch(() => "");
}
