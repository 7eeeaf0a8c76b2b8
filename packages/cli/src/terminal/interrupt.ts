import { CodedError } from "@xfn/errors";
import { ExitCode, signalExitCode } from "@xfn/program/exit-code";

const HANDLED = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

// Killing containers and removing their folders takes well under a second; a longer clean-up hangs.
const CLEAN_UP_MS = 10_000;

/** The reason of an aborted run: the user or the system sent a signal. */
export class InterruptedError extends CodedError<"Interrupted"> {
  override readonly name = "InterruptedError";
  readonly signalName: NodeJS.Signals;
  /** 128 + the signal's number, as in shells: 130 for SIGINT, 143 for SIGTERM. */
  readonly exitCode: number;

  constructor(signalName: NodeJS.Signals, options?: ErrorOptions) {
    super("Interrupted", `stopped by ${signalName}`, options);
    this.signalName = signalName;
    this.exitCode = signalExitCode(signalName);
  }
}

/** Runs a command that Ctrl-C usually ends, if `endless`: it has then succeeded. @see interruptible */
export async function endedByCtrlC(endless: boolean, work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  try {
    return await interruptible(work);
  } catch (error) {
    if (endless && error instanceof InterruptedError && error.signalName === "SIGINT") return ExitCode.ok;
    throw error;
  }
}

/** The used part of `process`; tests pass their own. */
export interface InterruptibleProcess {
  on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  off(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  readonly pid: number;
  kill(pid: number, signal: NodeJS.Signals): unknown;
  readonly stdin: { destroy(): unknown };
}

/**
 * Runs `work` with a signal that aborts at SIGINT, SIGTERM or SIGHUP, and waits for its clean-up for at most ten
 * seconds. An interrupted run always rejects with {@link InterruptedError}, even if `work` throws another error.
 */
export async function interruptible<T>(
  work: (signal: AbortSignal) => Promise<T>,
  system: InterruptibleProcess = process,
): Promise<T> {
  const controller = new AbortController();
  let first: InterruptedError | undefined;
  let limit: NodeJS.Timeout | undefined;
  const stopListening = (): void => {
    for (const name of HANDLED) system.off(name, onSignal);
  };
  // `process.exit` waits for threads, and so for ever if one opens a named pipe without a writer.
  const giveUp = (signalName: NodeJS.Signals): void => {
    stopListening();
    system.kill(system.pid, signalName);
  };
  const onSignal = (signalName: NodeJS.Signals): void => {
    // Ignore a second signal, which would leave a container behind.
    if (first !== undefined) return;
    const interrupted = new InterruptedError(signalName);
    first = interrupted;
    limit = setTimeout(giveUp, CLEAN_UP_MS, signalName);
    controller.abort(interrupted);
    // Ends a read from stdin.
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
