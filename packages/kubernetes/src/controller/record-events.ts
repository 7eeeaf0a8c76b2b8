import { createHash } from "node:crypto";
import type { JsonObject, KubernetesObject } from "@xfn/functionio";
import { isApiError } from "../client/api-error.ts";
import type { Client, ObjectReference } from "../client/client.ts";
import type { EventRecorder } from "./event-recorder.ts";

export interface EventRecorderOptions {
  /** Told of each event that was not written, and why. */
  readonly onDrop?: ((reason: string) => void) | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: (() => number) | undefined;
  /** Between two writes of the same event's count, in milliseconds. Default 30 s. */
  readonly repeatMs?: number | undefined;
}

// Events that are equal within this time are one, as in client-go.
const SERIES_MS = 10 * 60_000;
const REPEAT_MS = 30_000;
const SWEEP_MS = 5_000;
// Of one object: so many different events at once, and one every ten seconds after. Its user reads no more, and it must not
// take the room of others.
const OBJECT_BURST = 25;
const OBJECT_REFILL_MS = 10_000;
// After so many different messages for one reason the further ones are one event, with the last message.
const MAX_MESSAGES = 10;
const COMBINED = "(combined from similar events): ";
// 1,000 that wait to be written are some MB; what comes faster than the server takes is dropped.
const MAX_WAITING = 1_000;
// What is remembered for counting: 2,000 objects with some events each.
const MAX_SERIES = 10_000;
// Events are the least of a controller's requests, and must not be in the way of the others.
const WRITERS = 2;
const WRITE_TIMEOUT_MS = 10_000;
// The API's own bound on `message`, in bytes.
const MAX_MESSAGE_BYTES = 1_024;

/** `involvedObject` of an event. */
type About = JsonObject & { name: string; namespace?: string };

interface Series {
  readonly reference: ObjectReference;
  readonly about: About;
  readonly type: string;
  readonly reason: string;
  readonly first: number;
  message: string;
  last: number;
  count: number;
  /** How much of `count` the server knows; 0: the event is not there yet. */
  written: number;
  writtenAt: number;
}

/** What happened to one object: its events are bounded together. */
interface Subject {
  /** New events that it may still have, as of a time. */
  tokens: number;
  tokensAt: number;
  /** Different messages of late, by type and reason. */
  readonly messages: Map<string, { readonly since: number; readonly texts: Set<string> }>;
  last: number;
}

/**
 * Records events of the core API, those that `kubectl describe` shows. An event equal to one of the last ten minutes is counted
 * on it.
 *
 * @param source the component, as in `From`
 */
export function recordEvents(
  client: Client,
  source: string,
  options: EventRecorderOptions = {},
): EventRecorder & { readonly dropped: number } {
  const { onDrop, now = Date.now, repeatMs = REPEAT_MS } = options;
  const all = new Map<string, Series>();
  const subjects = new Map<string, Subject>();
  const waiting = new Set<Series>();
  const inFlight = new Set<Series>();
  let dropped = 0;
  let sweeping: NodeJS.Timeout | undefined;
  let idle: (() => void)[] = [];

  const drop = (reason: string): void => {
    dropped++;
    onDrop?.(reason);
  };
  const write = async (series: Series): Promise<void> => {
    const { count } = series;
    const signal = AbortSignal.timeout(WRITE_TIMEOUT_MS);
    try {
      if (series.written > 0) {
        const change = { count, lastTimestamp: time(series.last), message: series.message };
        try {
          await client.patch(series.reference, "merge", change, { signal });
        } catch (error) {
          // The server keeps events for an hour.
          if (!isApiError(error, "NotFound")) throw error;
          await client.create(eventOf(series, source), { signal });
        }
      } else {
        await client.create(eventOf(series, source), { signal });
      }
    } catch (error) {
      // Ours, of a write whose answer was lost: the next repetition sets its count.
      if (!isApiError(error, "AlreadyExists")) {
        drop(error instanceof Error ? error.message : String(error));
        // A first event that could not be written is written anew with the next that is equal.
        if (series.written === 0) forget(series);
        series.written = count;
        return;
      }
    }
    series.written = count;
    series.writtenAt = now();
  };
  const forget = (series: Series): void => {
    for (const [key, one] of all) if (one === series) all.delete(key);
  };
  const pump = (): void => {
    for (const series of waiting) {
      if (inFlight.size >= WRITERS) return;
      // Its turn comes when its last write has ended.
      if (inFlight.has(series)) continue;
      waiting.delete(series);
      if (series.count === series.written) continue;
      inFlight.add(series);
      void write(series).finally(() => {
        inFlight.delete(series);
        pump();
      });
    }
    if (inFlight.size === 0) {
      for (const resolve of idle) resolve();
      idle = [];
    }
  };
  const sweep = (): void => {
    const at = now();
    for (const [key, series] of all) {
      if (series.count > series.written && at - series.writtenAt >= repeatMs) waiting.add(series);
      else if (at - series.last > SERIES_MS) all.delete(key);
    }
    for (const [key, subject] of subjects) if (at - subject.last > SERIES_MS) subjects.delete(key);
    if (all.size === 0 && subjects.size === 0) {
      clearInterval(sweeping);
      sweeping = undefined;
    }
    pump();
  };
  const subjectOf = (key: string): Subject => {
    let subject = subjects.get(key);
    if (subject === undefined) {
      const oldest = subjects.keys().next().value;
      if (subjects.size >= MAX_SERIES && oldest !== undefined) subjects.delete(oldest);
      subject = { tokens: OBJECT_BURST, tokensAt: now(), messages: new Map(), last: now() };
      subjects.set(key, subject);
    }
    subject.last = now();
    return subject;
  };
  const record: EventRecorder["record"] = (object, { type, reason, message }) => {
    const about = aboutOf(object);
    if (about === undefined) return drop("the object has no name");
    const subject = subjectOf(JSON.stringify(about));
    const kept = combined(subject, `${type}/${reason}`, cut(message), now());
    const key = JSON.stringify([about, type, reason, kept.key]);
    const series = all.get(key);
    if (series !== undefined && now() - series.last <= SERIES_MS) {
      series.count++;
      series.last = now();
      series.message = kept.message;
      return;
    }
    if (waiting.size >= MAX_WAITING) return drop("too many events wait to be written");
    if (!take(subject, now())) return drop("too many events of one object");
    const oldest = all.keys().next().value;
    if (all.size >= MAX_SERIES && oldest !== undefined) all.delete(oldest);
    const namespace = about.namespace ?? "default";
    const begun: Series = {
      reference: { apiVersion: "v1", kind: "Event", namespace, name: eventName(about.name, key, now()) },
      about,
      type,
      reason,
      first: now(),
      message: kept.message,
      last: now(),
      count: 1,
      written: 0,
      writtenAt: now(),
    };
    all.set(key, begun);
    waiting.add(begun);
    sweeping ??= setInterval(sweep, SWEEP_MS).unref();
    pump();
  };
  return {
    get dropped() {
      return dropped;
    },
    record(object, event) {
      try {
        record(object, event);
      } catch (error) {
        // An object of another shape than its type says is no reason to fail what is being told.
        drop(String(error));
      }
    },
    async flush() {
      for (const series of all.values()) if (series.count > series.written) waiting.add(series);
      if (waiting.size === 0 && inFlight.size === 0) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      idle.push(resolve);
      pump();
      await promise;
    },
  };
}

function take(subject: Subject, now: number): boolean {
  subject.tokens = Math.min(OBJECT_BURST, subject.tokens + (now - subject.tokensAt) / OBJECT_REFILL_MS);
  subject.tokensAt = now;
  if (subject.tokens < 1) return false;
  subject.tokens--;
  return true;
}

/** A message that has something new in it each time would make an event of its own each time. */
function combined(subject: Subject, about: string, message: string, now: number): { key: string; message: string } {
  let known = subject.messages.get(about);
  if (known === undefined || now - known.since > SERIES_MS) {
    known = { since: now, texts: new Set() };
    subject.messages.set(about, known);
  }
  if (known.texts.size >= MAX_MESSAGES && !known.texts.has(message)) {
    return { key: COMBINED, message: cut(`${COMBINED}${message}`) };
  }
  known.texts.add(message);
  return { key: message, message };
}

function aboutOf({ apiVersion, kind, metadata }: KubernetesObject): About | undefined {
  const { name, namespace, uid } = metadata ?? {};
  if (typeof name !== "string" || name === "") return undefined;
  return {
    apiVersion: String(apiVersion ?? ""),
    kind: String(kind ?? ""),
    name,
    ...(typeof namespace === "string" ? { namespace } : {}),
    ...(typeof uid === "string" ? { uid } : {}),
  };
}

function eventOf(
  { reference, about, type, reason, message, first, last, count }: Series,
  source: string,
): KubernetesObject {
  const { apiVersion, kind, name, namespace = "" } = reference;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace },
    involvedObject: about,
    type,
    reason,
    message,
    count,
    firstTimestamp: time(first),
    lastTimestamp: time(last),
    source: { component: source },
    reportingComponent: source,
  };
}

/** Another for each series: names of objects may be as long as names of events. */
function eventName(name: string, key: string, now: number): string {
  const hash = createHash("sha256").update(key).update(String(now)).digest("hex").slice(0, 16);
  return `${name.slice(0, 200).replace(/[^a-z0-9]+$/, "")}.${hash}`;
}

/** As much of a message as the API takes, not cut within a character. */
function cut(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= MAX_MESSAGE_BYTES) return message;
  return `${bytes
    .subarray(0, MAX_MESSAGE_BYTES - 3)
    .toString()
    .replace(/\uFFFD+$/, "")}...`;
}

function time(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}
