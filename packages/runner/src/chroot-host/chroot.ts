import { closeSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { getSystemErrorMap } from "node:util";
import { quietly } from "../base/quietly.ts";
import { type ExitStatus, enlargePipe, type Pipe, pipe, spawn } from "../host/syscalls.ts";
import { type ChrootProcess, killCalls, startCalls } from "./launch-calls.ts";
import { launcherProgram, REPORT_BYTES, type SystemCall } from "./launcher.ts";
import { removeRoot } from "./remove-root.ts";
import { makeRoot } from "./root-folder.ts";
import { processesOf } from "./users.ts";

/** The end of a function's first process. */
export interface ChrootEnd {
  readonly code: number;
  /** Why the function did not start. */
  readonly failure: string | null;
}

/** One function in a chroot: its folder, its user, its pipes and its processes. */
export class Chroot {
  readonly id: string;
  /** The user and group of its processes. Nothing else uses them. */
  readonly user: number;
  readonly #folder: string;
  readonly #config: string;
  #program = "";
  #inside: [number, number, number] = [-1, -1, -1];
  #outside: [number, number, number] = [-1, -1, -1];
  #first: number | undefined;
  #killer: number | undefined;
  #calls: readonly SystemCall[] = [];

  /** @param config text of a config.json, whose process is started */
  constructor(id: string, folder: string, user: number, config: string) {
    this.id = id;
    this.user = user;
    this.#folder = folder;
    this.#config = config;
  }

  /** Creates the root and the pipes. @returns the runner's ends of stdin, stdout and stderr */
  async prepare(layers: readonly string[]): Promise<[number, number, number]> {
    mkdirSync(this.#folder, { mode: 0o700 });
    await makeRoot(layers, this.#root, this.user);
    for (let index = 0; index < 3; index++) {
      const { read, write }: Pipe = pipe();
      this.#inside[index] = index === 0 ? read : write;
      this.#outside[index] = index === 0 ? write : read;
    }
    return this.#outside;
  }

  /** Whether no process was started yet. */
  get isPrepared(): boolean {
    return this.#first === undefined;
  }

  start(largePipes: boolean): void {
    closeAll(this.#outside);
    if (largePipes) for (const fd of this.#inside.slice(0, 2)) enlargePipe(fd);
    try {
      const { process } = JSON.parse(this.#config) as { process: ChrootProcess };
      this.#program = process.args[0] ?? "";
      this.#calls = startCalls(this.#root, this.user, process, this.#report);
      this.#first = this.#run("start", this.#calls, this.#inside);
      const score = `/proc/${this.#first}/oom_score_adj`;
      // If the machine runs out of memory, the kernel kills functions first.
      quietly(() => writeFileSync(score, "1000"));
    } finally {
      closeAll(this.#inside);
    }
  }

  /** Kills all processes of the function's user at once, including processes that left its session. */
  kill(): void {
    if (this.#killer !== undefined) return;
    const nothing = pipe();
    try {
      this.#killer = this.#run("kill", killCalls(this.user), [nothing.read, nothing.write, nothing.write]);
    } finally {
      closeAll([nothing.read, nothing.write]);
    }
  }

  /** Whether a child of the chroot host belongs to this function, and in which role. */
  owns(pid: number): "first" | "killer" | undefined {
    if (pid === this.#first) return "first";
    return pid === this.#killer ? "killer" : undefined;
  }

  /** Records that the killer has ended. @returns whether no process is left */
  killerEnded(): boolean {
    this.#killer = undefined;
    return processesOf(this.user).length === 0;
  }

  /** The end of the function. Call it when no process is left. */
  endOf({ code, signal }: ExitStatus): ChrootEnd {
    // 128 + N after signal N, as OCI runtimes report it.
    return { code: signal === null ? (code ?? 0) : 128 + signal, failure: this.#failure() };
  }

  close(): void {
    closeAll(this.#inside);
    closeAll(this.#outside);
  }

  async remove(): Promise<void> {
    await removeRoot(this.#folder);
  }

  get #root(): string {
    return `${this.#folder}/root`;
  }

  get #report(): string {
    return `${this.#folder}/report`;
  }

  #run(name: string, calls: readonly SystemCall[], stdio: [number, number, number]): number {
    const path = `${this.#folder}/${name}`;
    writeFileSync(path, launcherProgram(calls), { mode: 0o700 });
    return spawn(path, [path], [], stdio);
  }

  #failure(): string | null {
    try {
      const report = readFileSync(this.#report);
      if (report.length !== REPORT_BYTES) return null;
      const call = this.#calls[report.readUInt32LE(4)]?.name ?? "a system call";
      const [name, text] = getSystemErrorMap().get(-report.readUInt32LE(0)) ?? ["", "unknown error"];
      const what = call === "execve" ? `${this.#program} cannot be executed` : `${call} failed`;
      return `${what}: ${text} (${name})`;
    } catch {
      return "the launcher did not run";
    }
  }
}

function closeAll(fds: number[]): void {
  for (const fd of fds) if (fd !== -1) quietly(() => closeSync(fd));
  fds.fill(-1);
}
