/** Runs work within a limit. Its signal aborts when no time is left, or when the given signal aborts. */
export type Limited = <T>(
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal | undefined) => Promise<T>,
) => Promise<T>;

/**
 * A limit of time that several pieces of work share. Time between them does not count.
 *
 * @param ms - undefined: no limit
 * @param over - makes the error if no time is left
 */
export function timeLimit(ms: number | undefined, over: (cause: unknown) => Error): Limited {
  if (ms === undefined) return async (signal, work) => await work(signal);
  let leftMs = ms;
  return async (signal, work) => {
    // A timer of 0 would fire only after work that needs no time.
    const end = AbortSignal.timeout(Math.max(1, Math.ceil(leftMs)));
    const started = performance.now();
    try {
      return await work(signal === undefined ? end : AbortSignal.any([signal, end]));
    } catch (cause) {
      throw end.aborted && signal?.aborted !== true ? over(cause) : cause;
    } finally {
      leftMs -= performance.now() - started;
    }
  };
}
