import type { Output } from "./output.ts";

// A shorter silence looks like work.
const SILENCE_MS = 2000;
const TICK_MS = 1000;

/** A clock; tests pass their own. */
export interface Clock {
  now(): number;
  /** Calls `tick` each second until the returned function is called. */
  start(tick: () => void): () => void;
}

const CLOCK: Clock = {
  now: () => performance.now(),
  start: (tick) => {
    const timer = setInterval(tick, TICK_MS);
    return () => clearInterval(timer);
  },
};

/**
 * Runs `work` and never leaves a terminal silent for more than three seconds: while the status line does not change, it
 * shows what the work does and for how long. Without a terminal, shows nothing.
 *
 * @param title - what the work does now, with its own progress; the seconds of its silence follow
 * @param work - gets the output to use meanwhile
 */
export async function withElapsedTime<T>(
  output: Output,
  title: string | (() => string),
  work: (output: Output) => Promise<T>,
  clock: Clock = CLOCK,
): Promise<T> {
  if (!output.interactive) return work(output);
  const began = clock.now();
  let changed = began;
  const observed: Output = {
    interactive: true,
    get columns() {
      return output.columns;
    },
    product: (text) => output.product(text),
    note: (line) => output.note(line),
    status: (line) => {
      changed = clock.now();
      output.status(line);
    },
  };
  const stop = clock.start(() => {
    if (clock.now() - changed < SILENCE_MS) return;
    const line = `${typeof title === "string" ? title : title()}, ${Math.round((clock.now() - began) / 1000)} s`;
    // A wrapped line could not be cleared.
    output.status(line.slice(0, output.columns - 1));
  });
  try {
    return await work(observed);
  } finally {
    stop();
    output.status(undefined);
  }
}
