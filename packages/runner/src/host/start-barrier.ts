import { closeSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { Socket } from "node:net";
import { pipe } from "./syscalls.ts";

/**
 * Delays an OCI runtime until its call arrives and it has joined the call's cgroups. Its config.json is a pipe that
 * stays empty until then. A wrapper process that joins the cgroups and then executes the runtime would take longer
 * than everything else.
 */
export class StartBarrier {
  readonly #path: string;
  readonly #retained: string;
  readonly #text: Buffer;
  readonly #read: number;
  readonly #writer: Socket;

  /** Replaces the config.json of a bundle. Start the runtime after that. */
  constructor(bundle: string) {
    this.#path = `${bundle}/config.json`;
    this.#retained = `${bundle}/config.retained`;
    this.#text = readFileSync(this.#path);
    const { read, write } = pipe();
    this.#read = read;
    // A socket writes asynchronously: the pipe may be smaller than the text, and this process must never block.
    this.#writer = new Socket({ fd: write, readable: false, writable: true });
    // The runtime may have read the file itself (see `open`), or may have ended.
    this.#writer.on("error", () => undefined);
    renameSync(this.#path, this.#retained);
    // Keep both ends open so that an early reader blocks instead of seeing EOF.
    symlinkSync(`/proc/${process.pid}/fd/${read}`, this.#path);
  }

  /**
   * Moves the runtime into the cgroups, then lets it read. If this throws, the runtime still waits and must be
   * killed.
   */
  open(pid: number, procs: readonly string[]): void {
    for (const file of procs) writeFileSync(file, String(pid));
    this.#release();
  }

  /** {@link open} for a function without a call: joining a cgroup may take milliseconds, in which calls must go on. */
  async openLater(pid: number, procs: readonly string[]): Promise<void> {
    for (const file of procs) await writeFile(file, String(pid));
    this.#release();
  }

  #release(): void {
    // Serves runtimes that open the file only now, and runtimes that read it twice.
    renameSync(this.#retained, this.#path);
    this.#writer.end(this.#text);
  }

  /** Releases the pipe, once the runtime has ended. */
  close(): void {
    this.#writer.destroy();
    closeSync(this.#read);
  }
}
