import { closeSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { Socket } from "node:net";
import { pipe } from "./syscalls.ts";

/**
 * The input that a waiting OCI runtime reads: its config.json, or a line in a shell that executes the runtime after it.
 */
export type BarrierKind = "config" | "shell";

/**
 * Delays an OCI runtime until its call arrives and it has joined the call's cgroups. Until then its config.json is an
 * empty pipe. A wrapper process that joins the cgroups and then executes the runtime would take longer than everything
 * else. Only a runtime that seeks in its config.json waits in a shell, because pipes do not support seeking.
 */
export class StartBarrier {
  /** The file to read: the process that opens it waits. */
  readonly path: string;
  /** The path of the real config.json, while a pipe replaces it. */
  readonly #retained: string | undefined;
  readonly #text: Buffer;
  readonly #read: number;
  readonly #writer: Socket;

  /** Replaces the config.json of a bundle, unless a shell waits. Start the runtime after that. */
  constructor(bundle: string, kind: BarrierKind = "config") {
    const config = `${bundle}/config.json`;
    this.path = kind === "config" ? config : `${bundle}/start`;
    this.#retained = kind === "config" ? `${bundle}/config.retained` : undefined;
    this.#text = kind === "config" ? readFileSync(config) : Buffer.from("start\n");
    const { read, write } = pipe();
    this.#read = read;
    // A socket writes asynchronously: the pipe may be smaller than the text, and this process must never block.
    this.#writer = new Socket({ fd: write, readable: false, writable: true });
    // The runtime may have read the file itself (see `open`), or may have ended.
    this.#writer.on("error", () => undefined);
    if (this.#retained !== undefined) renameSync(this.path, this.#retained);
    // Keep both ends open so that an early reader blocks instead of seeing EOF.
    symlinkSync(`/proc/${process.pid}/fd/${read}`, this.path);
  }

  /**
   * Moves the runtime into the cgroups, then lets it read. If this throws, the runtime is still waiting and must be
   * killed.
   */
  open(pid: number, procs: readonly string[]): void {
    for (const file of procs) writeFileSync(file, String(pid));
    this.#release();
  }

  /**
   * Like {@link open}, for a function without a call: joining a cgroup can take milliseconds and must not block calls.
   */
  async openLater(pid: number, procs: readonly string[]): Promise<void> {
    for (const file of procs) await writeFile(file, String(pid));
    this.#release();
  }

  #release(): void {
    // Handles runtimes that open the file only now, and runtimes that read it twice.
    if (this.#retained !== undefined) renameSync(this.#retained, this.path);
    this.#writer.end(this.#text);
  }

  /** Releases the pipe, once the runtime has ended. */
  close(): void {
    this.#writer.destroy();
    closeSync(this.#read);
  }
}
