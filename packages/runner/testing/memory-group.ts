import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createLimitCgroup, isVersion2 } from "../src/cgroup/cgroups.ts";
import { counter, removeGroup } from "../src/cgroup/files.ts";
import { nextGroupName } from "../src/cgroup/group-name.ts";
import { thisHost } from "../src/cgroup/shared-group.ts";

// The kernel frees the group of a killed process with a delay.
const REMOVAL_MS = 10_000;
const POLL_MS = 50;

/** A cgroup that limits the memory of a program and its descendants together. */
export class MemoryGroup implements AsyncDisposable {
  readonly #folder: string;
  readonly #isVersion2: boolean;

  private constructor(folder: string, isVersion2: boolean) {
    this.#folder = folder;
    this.#isVersion2 = isVersion2;
  }

  /** Creates a group below that of this process. @throws LimitUnavailableError if this user cannot create one */
  static create(bytes: number): MemoryGroup {
    const host = thisHost();
    const [procs] = createLimitCgroup(nextGroupName(), { memoryBytes: bytes, killsOne: true }, host)?.procs ?? [];
    if (procs === undefined) throw new TypeError("no cgroup was made");
    return new MemoryGroup(join(host.root, dirname(procs)), isVersion2(host.root));
  }

  /** A command that joins the group and becomes `command`, with the same process id. */
  command(command: readonly string[]): string[] {
    return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', join(this.#folder, "cgroup.procs"), ...command];
  }

  /**
   * The number of processes that the kernel killed because of the limit. Kills because of the limit of a group below do
   * not count. Version 1 also omits victims in groups below. A soak sees those by their calls' outcomes.
   */
  kills(): number {
    return this.#isVersion2
      ? counter(join(this.#folder, "memory.events.local"), "oom")
      : counter(join(this.#folder, "memory.oom_control"), "oom_kill");
  }

  /** Removes the group. If processes of the group are left after some seconds, the group stays. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const end = Date.now() + REMOVAL_MS; !removeTree(this.#folder) && Date.now() < end; ) await sleep(POLL_MS);
  }
}

// Version 2: the runner leaves behind the child group into which it moved itself.
function removeTree(folder: string): boolean {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(join(folder, entry.name));
  return removeGroup(folder);
}
