import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { killQuietly } from "../host/processes.ts";

/** A host exits within milliseconds. A stopped or hanging host never exits. */
const EXIT_MS = 5_000;

/**
 * Waits until the sandbox host has exited. Kills a host that takes too long: the kernel then ends its containers and
 * removes its mounts.
 *
 * @param unshare the parent of the host, which exits with it
 * @param exitMs milliseconds until the host is killed, and again until its parent is killed
 */
export async function hostExit(unshare: ChildProcess, exitMs: number = EXIT_MS): Promise<void> {
  const { pid, exitCode, signalCode } = unshare;
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  const exited = new Promise<void>((resolve) => unshare.once("exit", () => resolve()));
  const timers = [
    setTimeout(() => {
      const host = childIfAny(pid);
      if (host !== undefined) killQuietly(host);
    }, exitMs),
    setTimeout(() => killQuietly(pid), 2 * exitMs),
  ];
  try {
    await exited;
  } finally {
    timers.forEach(clearTimeout);
  }
}

/** The only child of `unshare`: the sandbox host. @throws Error if there is no child, or the kernel does not list it */
export function childOf(unshare: number): number {
  const [child = ""] = readFileSync(`/proc/${unshare}/task/${unshare}/children`, "utf8").trim().split(" ");
  if (child === "") throw new Error(`process ${unshare} has no child`);
  return Number(child);
}

function childIfAny(unshare: number): number | undefined {
  try {
    return childOf(unshare);
  } catch {
    return undefined;
  }
}
