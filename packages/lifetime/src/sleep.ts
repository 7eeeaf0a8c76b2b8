import { untilAborted } from "./until-aborted.ts";

/**
 * Waits for some milliseconds.
 *
 * @throws the signal's reason if it is aborted
 */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await untilAborted(promise, signal);
  } finally {
    clearTimeout(timer);
  }
}
