import { signalExitCode } from "@xfn/program/exit-code";

const HANDLED = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

// Killing containers and removing their folders takes well under a second; after this time something hangs.
const CLEAN_UP_MS = 10_000;

/** Why a run's `AbortSignal` fired: the user or the system asked the process to stop. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  readonly code = "Interrupted";
  readonly retryable = false;
  readonly signalName: NodeJS.Signals;
  /** 128 + the signal's number, as shells report it: 130 for SIGINT, 143 for SIGTERM. */
  readonly exitCode: number;

  constructor(signalName: NodeJS.Signals) {
    super(`stopped by ${signalName}`);
    this.signalName = signalName;
    this.exitCode = signalExitCode(signalName);
  }
}

/** What of the process is used; tests give their own. */
export interface InterruptibleProcess {
  on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  off(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  readonly pid: number;
  kill(pid: number, signal: NodeJS.Signals): unknown;
  readonly stdin: { destroy(): unknown };
}

/**
 * Runs `work` with a signal that aborts at SIGINT, SIGTERM or SIGHUP, and waits for its clean-up; the process ends at once
 * when that takes longer than ten seconds. A run that was interrupted always ends in {@link Interrupted}, whatever error
 * `work` made of the abort.
 */
export async function interruptible<T>(
  work: (signal: AbortSignal) => Promise<T>,
  system: InterruptibleProcess = process,
): Promise<T> {
  const controller = new AbortController();
  let first: Interrupted | undefined;
  let limit: NodeJS.Timeout | undefined;
  const stopListening = (): void => {
    for (const name of HANDLED) system.off(name, onSignal);
  };
  // `exit` would wait for threads, and so for ever for one that opens a named pipe that nobody writes to.
  const giveUp = (signalName: NodeJS.Signals): void => {
    stopListening();
    system.kill(system.pid, signalName);
  };
  const onSignal = (signalName: NodeJS.Signals): void => {
    // A second one changes nothing: impatience must not leave a container behind.
    if (first !== undefined) return;
    const interrupted = new Interrupted(signalName);
    first = interrupted;
    limit = setTimeout(giveUp, CLEAN_UP_MS, signalName);
    controller.abort(interrupted);
    // Whoever waits for input has nothing to wait for any more.
    system.stdin.destroy();
  };
  for (const name of HANDLED) system.on(name, onSignal);
  try {
    const result = await work(controller.signal);
    controller.signal.throwIfAborted();
    return result;
  } catch (error) {
    throw first ?? error;
  } finally {
    clearTimeout(limit);
    stopListening();
  }
}
