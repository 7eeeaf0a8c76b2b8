import { closeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "@xfn/errors";
import { socketHere, socketInside, tryConnect } from "./network-namespace.ts";
import { ownsPort } from "./port-owner.ts";
import { monotonicMs } from "./protocol.ts";

/** A server of a compiled language listens within some 20 ms. */
const FIRST_PAUSE_MS = 2;
const MAX_PAUSE_MS = 50;
const GROWTH = 1.2;

/** The container of a server. */
export interface ConnectTarget {
  /** Its first process; undefined before the OCI runtime has created it. */
  readonly init: () => number | undefined;
  /** Whether it has ended. */
  readonly ended: () => boolean;
  /** Whether it has its own network namespace. */
  readonly isolated: boolean;
}

/** The descriptor of a connected socket, or the reason for the failure. */
export type Connecting =
  | { fd: number }
  | { reason: "ended" }
  | { reason: "notListening" }
  | { reason: "failed"; message: string };

/**
 * The namespace of a process that has just ended cannot be entered, but the end may not be known yet. Other failures do
 * not disappear on their own.
 */
const MAX_FAILING_MS = 1_000;

/** Connects to a TCP port of a container as soon as something listens there. */
export async function connectContainer(target: ConnectTarget, port: number, timeoutMs: number): Promise<Connecting> {
  const end = monotonicMs() + timeoutMs;
  let failing: { message: string; since: number } | undefined;
  let fd: number | undefined;
  try {
    for (let pause = FIRST_PAUSE_MS; !target.ended(); pause = Math.min(pause * GROWTH, MAX_PAUSE_MS)) {
      try {
        fd ??= await socketOf(target);
        if (fd !== undefined && isOwn(target, port) && tryConnect(fd, port)) {
          const connected = { fd };
          fd = undefined;
          return connected;
        }
        failing = undefined;
      } catch (error) {
        failing = { message: messageOf(error), since: failing?.since ?? monotonicMs() };
        if (monotonicMs() - failing.since > MAX_FAILING_MS) return { reason: "failed", message: failing.message };
      }
      if (monotonicMs() >= end) return { reason: "notListening" };
      await sleep(pause);
    }
    return { reason: "ended" };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

async function socketOf({ init, isolated }: ConnectTarget): Promise<number | undefined> {
  const pid = init();
  if (pid === undefined) return undefined;
  return isolated ? await socketInside(pid) : socketHere();
}

/**
 * Whether the socket that listens on a port belongs to the container. In the container's own network namespace it
 * always does.
 */
function isOwn({ init, isolated }: ConnectTarget, port: number): boolean {
  const pid = init();
  return isolated || (pid !== undefined && ownsPort(pid, port));
}
