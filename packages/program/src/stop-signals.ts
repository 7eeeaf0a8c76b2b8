const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** What the signals of a stop are to do. */
export interface Stopping {
  /** The first: no more calls, those that there are may end. */
  readonly drain: (signal: NodeJS.Signals) => void;
  /** The second: now. */
  readonly kill: (signal: NodeJS.Signals) => void;
}

/** What of the process is used; tests give their own. */
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
