const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** The reactions to stop signals. */
export interface Stopping {
  /** The first signal: accept no more calls, and let running calls end. */
  readonly drain: (signal: NodeJS.Signals) => void;
  /** The second signal: stop at once. */
  readonly kill: (signal: NodeJS.Signals) => void;
}

/** The part of the process that is used. Tests pass their own. */
export interface SignalSource {
  on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  off(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
}

/** Listens for SIGTERM, SIGINT and SIGHUP. @returns a function that stops listening */
export function onStopSignals({ drain, kill }: Stopping, source: SignalSource = process): () => void {
  let count = 0;
  const listener = (signal: NodeJS.Signals): void => {
    count++;
    if (count === 1) drain(signal);
    else if (count === 2) kill(signal);
  };
  for (const signal of SIGNALS) source.on(signal, listener);
  return () => {
    for (const signal of SIGNALS) source.off(signal, listener);
  };
}
