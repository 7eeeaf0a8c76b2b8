import { untilAborted } from "@xfn/lifetime";
import { ImageError } from "./errors.ts";

interface Flight<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Runs the work for a key once for all concurrent callers, like Go's singleflight. Aborts it when the last waiting
 * caller aborts.
 */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  async run(key: string, signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    throwIfAborted(signal);
    const running = this.#flights.get(key);
    if (running !== undefined) {
      try {
        return await wait(running, signal);
      } catch (error) {
        throwIfAborted(signal);
        if (
          error instanceof ImageError &&
          !error.retryable &&
          error.code !== "Unauthorized" &&
          error.code !== "Aborted"
        )
          throw error;
        // The failure may be specific to the first caller (credentials, a connection): run this caller's work.
        return this.run(key, signal, work);
      }
    }
    const controller = new AbortController();
    const flight: Flight<T> = { controller, waiting: 0, result: work(controller.signal) };
    const forget = (): void => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    };
    this.#flights.set(key, flight);
    flight.result.then(forget, forget);
    return wait(flight, signal);
  }
}

async function wait<T>(flight: Flight<T>, signal: AbortSignal | undefined): Promise<T> {
  flight.waiting += 1;
  try {
    return await untilAborted(flight.result, signal, abortError);
  } finally {
    flight.waiting -= 1;
    if (flight.waiting === 0) {
      flight.controller.abort();
      // Callers rely on the work having stopped when this throws.
      await flight.result.catch(() => {});
    }
  }
}

export function abortError(signal: AbortSignal | undefined): ImageError {
  return new ImageError("Aborted", "aborted by the caller", { cause: signal?.reason });
}

/** @throws ImageError Aborted */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortError(signal);
}
