import { constants } from "node:os";

const HANDLED = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

// Long enough to kill containers and remove their folders; after it a second signal ends the process at once.
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
    this.exitCode = 128 + constants.signals[signalName];
  }
}

/**
 * Runs `work` with a signal that aborts at SIGINT, SIGTERM or SIGHUP, and waits for its clean-up. A run that was
 * interrupted always ends in {@link Interrupted}, whatever error `work` made of the abort.
 */
export async function interruptible<T>(
  work: (signal: AbortSignal) => Promise<T>,
  emitter: Pick<NodeJS.Process, "on" | "off" | "exit"> = process,
): Promise<T> {
  const controller = new AbortController();
  let first: { error: Interrupted; at: number } | undefined;
  const onSignal = (signalName: NodeJS.Signals): void => {
    if (first === undefined) {
      first = { error: new Interrupted(signalName), at: Date.now() };
      controller.abort(first.error);
    } else if (Date.now() - first.at > CLEAN_UP_MS) {
      emitter.exit(first.error.exitCode);
    }
  };
  for (const name of HANDLED) emitter.on(name, onSignal);
  try {
    const result = await work(controller.signal);
    if (first !== undefined) throw first.error;
    return result;
  } catch (error) {
    throw first === undefined ? error : first.error;
  } finally {
    for (const name of HANDLED) emitter.off(name, onSignal);
  }
}
