import { messageOf } from "@xfn/errors";
import { isApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import { type EventSeries, eventOf, eventTime } from "./event-series.ts";

export interface EventWriterOptions {
  readonly client: Client;
  /** The reporting component. */
  readonly source: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called for each failed write. */
  readonly onFailure: (series: EventSeries, reason: string) => void;
}

// Events are the least important requests of a controller.
const WRITERS = 2;
const WRITE_TIMEOUT_MS = 10_000;

/** Writes event series to the server, a few at a time. */
export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #waiting = new Set<EventSeries>();
  readonly #inFlight = new Set<EventSeries>();
  #onIdle: (() => void)[] = [];

  constructor(options: EventWriterOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Queues a series. {@link pump} starts the write. */
  add(series: EventSeries): void {
    this.#waiting.add(series);
  }

  /** Starts writes while there are free writers. */
  pump(): void {
    for (const series of this.#waiting) {
      if (this.#inFlight.size >= WRITERS) return;
      // A series waits for the end of its own previous write.
      if (this.#inFlight.has(series)) continue;
      this.#waiting.delete(series);
      if (series.count === series.written) continue;
      this.#inFlight.add(series);
      void this.#write(series).finally(() => {
        this.#inFlight.delete(series);
        this.pump();
      });
    }
    if (this.#inFlight.size > 0) return;
    for (const resolve of this.#onIdle) resolve();
    this.#onIdle = [];
  }

  /** Resolves when all queued series are written. */
  async flush(): Promise<void> {
    if (this.#waiting.size === 0 && this.#inFlight.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onIdle.push(resolve);
    this.pump();
    await promise;
  }

  async #write(series: EventSeries): Promise<void> {
    const { count } = series;
    try {
      await this.#send(series, AbortSignal.timeout(WRITE_TIMEOUT_MS));
    } catch (error) {
      // After AlreadyExists, an earlier write succeeded without a response; the next repetition corrects its count.
      if (!isApiError(error, "AlreadyExists")) {
        this.#options.onFailure(series, messageOf(error));
        series.written = count;
        return;
      }
    }
    series.written = count;
    series.writtenAt = this.#options.now();
  }

  async #send(series: EventSeries, signal: AbortSignal): Promise<void> {
    const { client, source } = this.#options;
    if (series.written > 0) {
      const change = { count: series.count, lastTimestamp: eventTime(series.last), message: series.message };
      try {
        await client.patch(series.reference, "merge", change, { signal });
        return;
      } catch (error) {
        // The server deletes events after an hour.
        if (!isApiError(error, "NotFound")) throw error;
      }
    }
    await client.create(eventOf(series, source), { signal });
  }
}
