import { onAbort } from "./on-abort.ts";

/**
 * Waits for work, or until a signal is aborted. The work itself continues.
 *
 * @param errorOf - the error of an aborted signal; default: its reason
 * @throws the error of the work, or that of the signal
 */
export async function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  errorOf: (signal: AbortSignal) => unknown = ({ reason }) => reason as unknown,
): Promise<T> {
  if (signal === undefined) return await work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const forget = onAbort(signal, () => reject(errorOf(signal)));
  try {
    // The race handles an error of the work even if the signal wins.
    return await Promise.race([aborted, work]);
  } finally {
    forget();
  }
}
