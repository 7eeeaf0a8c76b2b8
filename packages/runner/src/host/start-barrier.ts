import { closeSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { pipe } from "./syscalls.ts";

/**
 * Keeps an OCI runtime from doing anything before its call is there, and before it is in the cgroups of the call, without another
 * process that joins them first and then becomes the runtime (a shell would take longer than all the rest): its config.json
 * is a pipe, which has nothing to read until then.
 */
export interface RuntimeGate {
  /** Puts the runtime into the cgroups, if any, then lets it read. On failure it stays where it waits, and is to be killed. */
  open(pid: number, procs: readonly string[]): void;
  /** To be called when the runtime has ended. */
  close(): void;
}

/** Puts the gate in front of a bundle whose config.json is there. The runtime is to be started after that. */
export function makeRuntimeGate(bundle: string): RuntimeGate {
  const path = `${bundle}/config.json`;
  const kept = `${bundle}/config.kept`;
  const text = readFileSync(path);
  const { read, write } = pipe();
  // A socket, because a pipe may be smaller than the text, and this process never waits.
  const writer = new Socket({ fd: write, readable: false, writable: true });
  // The runtime may have read the file itself (see below), or may have ended.
  writer.on("error", () => undefined);
  renameSync(path, kept);
  // Both ends stay open here: who reads before it is written to waits.
  symlinkSync(`/proc/${process.pid}/fd/${read}`, path);
  return {
    open: (pid, procs) => {
      for (const file of procs) writeFileSync(file, String(pid));
      // For a runtime that opens it only now, and for those that read it twice.
      renameSync(kept, path);
      writer.end(text);
    },
    close: () => {
      writer.destroy();
      closeSync(read);
    },
  };
}
