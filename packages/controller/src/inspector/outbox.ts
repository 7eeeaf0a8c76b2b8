import { setImmediate } from "node:timers/promises";
import { messageOf } from "@xfn/errors";
import { InspectorClient } from "@xfn/function-grpc/inspector";
import type { DroppedMessage } from "../objects/context.ts";
import type { Logger } from "../objects/logger.ts";

/** Messages that wait. Each refers to the objects of its run, which stay in memory as long as it waits. */
const MAX_WAITING = 100;

/** An inspector that is absent fails each message. */
const LOG_MS = 60_000;

/** A message for the inspector. */
export interface OutgoingMessage extends Pick<DroppedMessage, "functionName" | "type"> {
  /** Renders the message and sends it. @returns whether it was within the bound of its size */
  emit(client: InspectorClient): Promise<boolean>;
}

/** Options of {@link Outbox}. */
export interface OutboxOptions {
  /** The path of the inspector's socket. */
  readonly socket: string;
  /** Milliseconds for one message. Default: Crossplane's 100. */
  readonly deadlineMs?: number;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called for each message that the inspector did not get. */
  readonly onDrop: (dropped: DroppedMessage) => void;
}

/**
 * Sends messages to the inspector in order, one at a time. No caller waits for it, and no error leaves it. Drops
 * messages that exceed a bound, and those that the inspector does not take in time.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #client: InspectorClient;
  readonly #waiting: OutgoingMessage[] = [];
  #isSending = false;
  #unlogged = 0;
  #loggedAt = -Infinity;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#client = new InspectorClient(options.socket, options.deadlineMs);
  }

  add(message: OutgoingMessage): void {
    if (this.#waiting.length >= MAX_WAITING) return this.#drop(message, "Overloaded", `${MAX_WAITING} others wait`);
    this.#waiting.push(message);
    if (!this.#isSending) void this.#send();
  }

  /** Drops what waits, and ends the connection. */
  close(): void {
    this.#waiting.length = 0;
    this.#client.close();
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    for (;;) {
      // Lets the run continue before its message is rendered.
      await setImmediate();
      const message = this.#waiting.shift();
      if (message === undefined) break;
      try {
        // Nothing is rendered for an absent inspector.
        await this.#client.connect();
        if (!(await message.emit(this.#client))) this.#drop(message, "TooLarge", "it exceeds the bound of a message");
      } catch (error) {
        this.#drop(message, reasonOf(error), messageOf(error));
      }
    }
    this.#isSending = false;
  }

  #drop({ functionName, type }: OutgoingMessage, reason: string, problem: string): void {
    const { log, now, onDrop, socket } = this.#options;
    onDrop({ functionName, type, reason });
    this.#unlogged += 1;
    if (now() - this.#loggedAt < LOG_MS) return;
    log.warn({ socket, reason, problem, dropped: this.#unlogged }, "cannot tell the pipeline inspector of a call");
    this.#loggedAt = now();
    this.#unlogged = 0;
  }
}

function reasonOf(error: unknown): string {
  const isCoded = error instanceof Error && error.name === "FunctionCallError" && "code" in error;
  return isCoded ? String(error.code) : "Unreachable";
}
