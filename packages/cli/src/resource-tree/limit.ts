/** Runs work, at most a fixed number at a time. */
export type Limit = <T>(work: () => Promise<T>) => Promise<T>;

/** Makes a {@link Limit} of `most` at a time. */
export function limitOf(most: number): Limit {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      // The next one takes over this place.
      if (next === undefined) running--;
      else next();
    }
  };
}
