import type { KubernetesObject } from "@xfn/json";
import type { Client } from "../client/client.ts";
import type { EventRecorder } from "./event-recorder.ts";
import { type EventSeries, involvedObject, newSeries } from "./event-series.ts";
import { EventWriter } from "./event-writer.ts";
import { ObjectEvents } from "./object-events.ts";

export interface EventRecorderOptions {
  /** Called with the reason for each event that is not written. */
  readonly onDrop?: ((reason: string) => void) | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: (() => number) | undefined;
}

// Within this time, client-go too counts equal events on the first.
const SERIES_MS = 10 * 60_000;
/** Time between two writes of an event's count. */
const REPEAT_MS = 30_000;
const SWEEP_MS = 5_000;
// 1,000 waiting events take some MB. If more arrive than the server accepts, the rest is dropped.
const MAX_WAITING = 1_000;
// For 2,000 objects with some events each.
const MAX_SERIES = 10_000;

/**
 * Returns a recorder of core API events, which `kubectl describe` shows. It counts an event that equals one of the last
 * ten minutes on that one.
 *
 * @param source the reporting component, which `kubectl describe` shows as `From`
 */
export function recordEvents(
  client: Client,
  source: string,
  options: EventRecorderOptions = {},
): EventRecorder & { readonly dropped: number } {
  return new SeriesRecorder(client, source, options);
}

class SeriesRecorder implements EventRecorder {
  readonly #writer: EventWriter;
  readonly #series = new Map<string, EventSeries>();
  readonly #objects = new Map<string, ObjectEvents>();
  readonly #onDrop: ((reason: string) => void) | undefined;
  readonly #now: () => number;
  #dropped = 0;
  #sweeping: NodeJS.Timeout | undefined;

  constructor(client: Client, source: string, { onDrop, now = Date.now }: EventRecorderOptions) {
    this.#onDrop = onDrop;
    this.#now = now;
    this.#writer = new EventWriter({
      client,
      source,
      now,
      onFailure: (series, reason) => {
        this.#drop(reason);
        // The next equal event starts a new series, which creates the event.
        if (series.written === 0 && this.#series.get(series.key) === series) this.#series.delete(series.key);
      },
    });
  }

  get dropped(): number {
    return this.#dropped;
  }

  record(object: KubernetesObject, event: Parameters<EventRecorder["record"]>[1]): void {
    try {
      this.#record(object, event);
    } catch (error) {
      // A malformed object must not fail the caller.
      this.#drop(String(error));
    }
  }

  async flush(): Promise<void> {
    for (const series of this.#series.values()) if (series.count > series.written) this.#writer.add(series);
    await this.#writer.flush();
  }

  #record(object: KubernetesObject, { type, reason, message: text }: Parameters<EventRecorder["record"]>[1]): void {
    const about = involvedObject(object);
    if (about === undefined) return this.#drop("the object has no name");
    const now = this.#now();
    const events = this.#eventsOf(JSON.stringify(about), now);
    const { key: messageKey, message } = events.combine(`${type}/${reason}`, text, now, SERIES_MS);
    const key = JSON.stringify([about, type, reason, messageKey]);
    const known = this.#series.get(key);
    if (known !== undefined && now - known.last <= SERIES_MS) {
      known.count++;
      known.last = now;
      known.message = message;
      return;
    }
    if (this.#writer.waiting >= MAX_WAITING) return this.#drop("too many events wait to be written");
    if (!events.take(now)) return this.#drop("too many events of one object");
    evictOldest(this.#series);
    const series = newSeries(key, about, { type, reason, message }, now);
    this.#series.set(key, series);
    this.#writer.add(series);
    this.#sweeping ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
    this.#writer.pump();
  }

  #eventsOf(key: string, now: number): ObjectEvents {
    let events = this.#objects.get(key);
    if (events === undefined) {
      evictOldest(this.#objects);
      events = new ObjectEvents();
      this.#objects.set(key, events);
    }
    events.last = now;
    return events;
  }

  /** Writes counts that are due, and forgets series and objects without recent events. */
  #sweep(): void {
    const now = this.#now();
    for (const [key, series] of this.#series) {
      if (series.count > series.written && now - series.writtenAt >= REPEAT_MS) this.#writer.add(series);
      else if (now - series.last > SERIES_MS) this.#series.delete(key);
    }
    for (const [key, { last }] of this.#objects) if (now - last > SERIES_MS) this.#objects.delete(key);
    if (this.#series.size === 0 && this.#objects.size === 0) {
      clearInterval(this.#sweeping);
      this.#sweeping = undefined;
    }
    this.#writer.pump();
  }

  #drop(reason: string): void {
    this.#dropped++;
    this.#onDrop?.(reason);
  }
}

function evictOldest(map: Map<string, unknown>): void {
  const oldest = map.keys().next().value;
  if (map.size >= MAX_SERIES && oldest !== undefined) map.delete(oldest);
}
