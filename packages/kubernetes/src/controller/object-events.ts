import { escapeControls } from "@xfn/units";
import { TokenBucket } from "../client/token-bucket.ts";

// Limit for one object: a burst of different events, then one every ten seconds. Users read no more, and other objects
// need the room.
const OBJECT_RATE = { perSecond: 0.1, burst: 25 };
// Further messages of the same reason become one event, with the latest message.
const MAX_MESSAGES = 10;
const COMBINED = "(combined from similar events): ";
// The API's own limit for `message`, in bytes.
const MAX_MESSAGE_BYTES = 1_024;

/** The recent events of one object, which share one limit. Times are in milliseconds. */
export class ObjectEvents {
  readonly #bucket = new TokenBucket(OBJECT_RATE);
  /** Recent messages by type and reason. */
  readonly #messages = new Map<string, { readonly since: number; readonly texts: Set<string> }>();
  last = 0;

  /** Whether the object may have one more new event; if so, counts it. */
  take(now: number): boolean {
    if (this.#bucket.waitMs(now) > 0) return false;
    this.#bucket.take(now);
    return true;
  }

  /**
   * Combines messages that differ each time into one event.
   *
   * @param reason type and reason of the event
   * @param windowMs how long messages are remembered
   * @returns the message to write, and a key that equal events share
   */
  combine(reason: string, text: string, now: number, windowMs: number): { key: string; message: string } {
    // Functions and other servers write parts of it, and kubectl prints it to terminals.
    const message = cut(escapeControls(text));
    let known = this.#messages.get(reason);
    if (known === undefined || now - known.since > windowMs) {
      known = { since: now, texts: new Set() };
      this.#messages.set(reason, known);
    }
    if (known.texts.size >= MAX_MESSAGES && !known.texts.has(message)) {
      return { key: COMBINED, message: cut(`${COMBINED}${message}`) };
    }
    known.texts.add(message);
    return { key: message, message };
  }
}

/** Cuts a message to the API's limit, between characters. */
function cut(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= MAX_MESSAGE_BYTES) return message;
  return `${bytes
    .subarray(0, MAX_MESSAGE_BYTES - 3)
    .toString()
    .replace(/\uFFFD+$/, "")}...`;
}
