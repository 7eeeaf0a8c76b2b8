import { messageOf } from "@xfn/errors";
import { quietly } from "../base/quietly.ts";
import type { KillRequest, PrepareRequest, StartRequest } from "../host/protocol.ts";
import { monotonicMs } from "../host/protocol.ts";
import type { FunctionsHost, Send } from "../host/serve-requests.ts";
import { type ExitStatus, reap } from "../host/syscalls.ts";
import { Chroot } from "./chroot.ts";
import { processesOf, USERS_OF_RUNNER, UserPool } from "./users.ts";

/** A killed process ends within milliseconds, unless the kernel waits for a device. */
const KILL_AGAIN_MS = 20;

/** All functions in chroots of one runner, from their preparation to their end. */
export class ChrootHost implements FunctionsHost {
  readonly #folder: string;
  readonly #send: Send;
  readonly #chroots = new Map<string, Chroot>();
  readonly #users: UserPool;
  /** Exit statuses of first processes whose remaining processes are being killed. */
  readonly #ends = new Map<Chroot, { status: ExitStatus; at: number }>();
  #onEmpty: (() => void) | undefined;

  /**
   * @param folder a private folder
   * @param firstUser the first user of the runner
   */
  constructor(folder: string, firstUser: number, send: Send) {
    this.#folder = folder;
    this.#users = new UserPool(firstUser);
    this.#send = send;
    // Processes that outlived an earlier host of this runner. Some may end in the meantime.
    for (const pid of processesOf(firstUser, USERS_OF_RUNNER)) quietly(() => process.kill(pid, "SIGKILL"));
  }

  async prepare({ id, layers }: PrepareRequest, config: string): Promise<void> {
    const user = this.#users.take();
    if (user === undefined) {
      const message = `${USERS_OF_RUNNER} functions run in chroots already`;
      return this.#send({ type: "prepareFailed", id, message });
    }
    const chroot = new Chroot(id, `${this.#folder}/${id}`, user, config);
    try {
      const fds = await chroot.prepare(layers);
      this.#chroots.set(id, chroot);
      this.#send({ type: "prepared", id, fds, rootfs: "copy" });
    } catch (error) {
      this.#send({ type: "prepareFailed", id, message: messageOf(error) });
      this.#remove(chroot);
    }
  }

  start({ id, largePipes }: StartRequest): void {
    const chroot = this.#chroots.get(id);
    if (chroot === undefined) return;
    try {
      chroot.start(largePipes);
    } catch (error) {
      this.#send({ type: "startFailed", id, message: messageOf(error) });
      this.#remove(chroot);
    }
  }

  kill({ id }: KillRequest): void {
    const chroot = this.#chroots.get(id);
    if (chroot === undefined) return;
    if (chroot.isPrepared) this.#remove(chroot);
    else chroot.kill();
  }

  /** Reaps all children that have ended, including those that functions left behind. Call it on SIGCHLD. */
  reap(): void {
    for (let status = reap(); status !== undefined; status = reap()) {
      for (const chroot of this.#chroots.values()) {
        const owned = chroot.owns(status.pid);
        if (owned === "first") this.#ends.set(chroot, { status, at: monotonicMs() });
        if (owned !== undefined) this.#progress(chroot, owned);
      }
    }
  }

  /** Kills all functions, and removes all folders. */
  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onEmpty = resolve;
    for (const { id } of this.#chroots.values()) this.kill({ type: "kill", id });
    if (this.#users.isUnused) resolve();
    await promise;
  }

  // The end of a function's first process does not end the processes that it started.
  #progress(chroot: Chroot, ended: "first" | "killer"): void {
    const end = this.#ends.get(chroot);
    const isEmpty = ended === "killer" && chroot.killerEnded();
    if (end === undefined) return;
    if (!isEmpty) {
      if (ended === "first") chroot.kill();
      else setTimeout(() => chroot.kill(), KILL_AGAIN_MS);
      return;
    }
    const { code, failure } = chroot.endOf(end.status);
    this.#send({
      type: "exited",
      id: chroot.id,
      mayHaveRun: failure === null,
      at: end.at,
      code,
      runtimeError: failure,
      diskFull: false,
    });
    this.#remove(chroot);
  }

  #remove(chroot: Chroot): void {
    this.#chroots.delete(chroot.id);
    this.#ends.delete(chroot);
    chroot.close();
    const free = (): void => {
      this.#users.giveBack(chroot.user);
      if (this.#users.isUnused) this.#onEmpty?.();
    };
    // A folder that cannot be removed takes space, but does not affect other calls.
    chroot.remove().then(free, free);
  }
}
