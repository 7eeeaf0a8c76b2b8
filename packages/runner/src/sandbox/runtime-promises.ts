import { readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { readText } from "../base/read-text.ts";
import { processTree } from "../cgroup/process-tree.ts";
import type { RuntimeFamily } from "../host/runtime-family.ts";
import { MAX_OPEN_FILES } from "./limits.ts";

/** The kernel's files about a process. Tests pass their own. */
export interface ProcessFiles {
  /** The text of a file in /proc/PID; empty if it cannot be read. */
  read(name: string): string;
  /** The target of a link in /proc/PID; undefined if it cannot be read. */
  link(name: string): string | undefined;
}

/** The namespaces that an isolated container must not share. */
const NAMESPACES = ["net", "pid", "mnt", "ipc", "uts", "user"] as const;
/**
 * The namespaces in which gVisor's kernel runs. Functions see only the processes of that kernel. It traces their
 * threads, and for that stays in the pid namespace of its caller
 * (https://gvisor.dev/docs/architecture_guide/platforms/).
 */
const GVISOR_NAMESPACES = ["net", "mnt", "ipc", "uts", "user"] as const;
const EMPTY_SET = /^0+$/;

/**
 * The first promise that an OCI runtime breaks for a process of an isolated container, as the end of a sentence about
 * the runtime. Undefined if it keeps all promises that can be checked from outside.
 *
 * @param host the process that started the runtime
 * @param groups paths of the cgroups that the process must be in
 */
export function brokenPromise(
  family: RuntimeFamily,
  process: ProcessFiles,
  host: ProcessFiles,
  groups: readonly string[],
): string | undefined {
  const status = process.read("status");
  const field = (name: string): string => new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(status)?.[1] ?? "";
  if (field("Seccomp") !== "2") return "installs no seccomp filter";
  const shared = (family === "runsc" ? GVISOR_NAMESPACES : NAMESPACES).find((name) => {
    const own = process.link(`ns/${name}`);
    return own !== undefined && own === host.link(`ns/${name}`);
  });
  if (shared !== undefined) return `makes no ${shared} namespace`;
  const cgroup = process.read("cgroup");
  if (!groups.every((group) => cgroup.includes(group))) return "leaves the cgroups of its caller, and so its limits";
  // gVisor's kernel keeps the other promises, which cannot be checked from outside.
  if (family === "runsc") return undefined;
  if (field("NoNewPrivs") !== "1") return "ignores noNewPrivileges";
  if (["CapPrm", "CapEff", "CapBnd"].some((set) => !EMPTY_SET.test(field(set)))) return "leaves capabilities";
  const openFiles = /^Max open files\s+\d+\s+(\d+)/m.exec(process.read("limits"))?.[1];
  if (Number(openFiles) > MAX_OPEN_FILES) return "sets no resource limits";
  return undefined;
}

export function filesOf(pid: number): ProcessFiles {
  return {
    read: (name) => readText(`/proc/${pid}/${name}`),
    link(name) {
      try {
        return readlinkSync(`/proc/${pid}/${name}`);
      } catch {
        // An ordinary user cannot read the links of all processes.
        return undefined;
      }
    },
  };
}

const POLL_MS = 5;
/** Containers start within a second. */
const FIND_MS = 10_000;

/** The container whose process is searched for. */
export interface WantedProcess {
  readonly family: RuntimeFamily;
  /** The process that started the runtime. */
  readonly host: number;
  /** The name of the container's process. gVisor's kernel runs the program in its own process. */
  readonly program: string;
}

/**
 * Waits for the process of a container.
 *
 * @param before processes of earlier containers, which may still be ending
 * @param ended whether the container has ended
 * @returns undefined if the container has ended, or if its process does not appear in time
 */
export async function findProcess(
  wanted: WantedProcess,
  before: ReadonlySet<number>,
  ended: () => boolean,
  patienceMs: number = FIND_MS,
): Promise<number | undefined> {
  const until = performance.now() + patienceMs;
  while (!ended() && performance.now() < until) {
    const found = processesOf(wanted).find((pid) => !before.has(pid));
    if (found !== undefined) return found;
    await sleep(POLL_MS);
  }
  return undefined;
}

/** All processes that match the container's runtime family and program. */
export function processesOf({ family, host, program }: WantedProcess): number[] {
  return processTree(host).filter((pid) => isProgram(family, pid, program));
}

function isProgram(family: RuntimeFamily, pid: number, program: string): boolean {
  if (family === "runsc") return readText(`/proc/${pid}/cmdline`).startsWith("runsc-sandbox\0");
  return readText(`/proc/${pid}/comm`).trim() === program;
}
