import type { OnReadOpts, Socket } from "node:net";
import { MAX_TIMER_MS } from "@xfn/units";
import { ExactReader } from "../wire/exact-reader.ts";
import { lengthOf } from "../wire/large-message.ts";
import { type AnswerHead, encodeRequestHead, readAnswerHead } from "../wire/plain-call.ts";
import { statusName } from "../wire/status-codes.ts";
import { type Answer, failed, type OutgoingCall, type RunningCall } from "./answer.ts";

// A server answers the head at once. One without plain calls closes the connection, or does not answer.
const HANDSHAKE_MS = 2_000;

/** Opens a connection. */
export type Connect = (onread: OnReadOpts) => Socket;

/** One plain call, on a connection of its own. */
export class PlainCall implements RunningCall {
  /**
   * Resolves with undefined if no server of plain calls answers. No message was sent then, and the call can be made in
   * another way.
   */
  readonly answer: Promise<Answer | undefined>;
  readonly #settle: (answer: Answer | undefined) => void;
  readonly #call: OutgoingCall;
  readonly #maxBytes: number;
  readonly #reader = new ExactReader(() => this.#lost("the runner sent more than its answer"));
  readonly #socket: Socket;
  readonly #handshake: NodeJS.Timeout;
  readonly #deadline: NodeJS.Timeout;
  /** Whether the message is being sent. */
  #sending = false;
  #ended = false;

  /** @param maxBytes of the answer's message */
  constructor(connect: Connect, call: OutgoingCall, maxBytes: number) {
    const { promise, resolve } = Promise.withResolvers<Answer | undefined>();
    this.answer = promise;
    this.#settle = resolve;
    this.#call = call;
    this.#maxBytes = maxBytes;
    const { path, metadata, message, deadline } = call;
    const timeoutMs = Math.min(Math.max(Math.ceil(deadline - Date.now()), 0), MAX_TIMER_MS);
    readAnswerHead(this.#reader, (head) => this.#begin(head));
    this.#socket = connect(this.#reader.onread);
    this.#socket.on("error", (cause) => this.#lost(cause.message));
    this.#socket.on("close", () => this.#lost("the connection was closed"));
    this.#socket.write(encodeRequestHead({ path, timeoutMs, length: lengthOf(message), metadata }));
    this.#handshake = setTimeout(() => this.#end(undefined), HANDSHAKE_MS);
    this.#deadline = setTimeout(() => this.#end(failed("DEADLINE_EXCEEDED", "Deadline exceeded")), timeoutMs);
  }

  cancel(): void {
    this.#end(failed("CANCELLED", "Cancelled on client"));
  }

  /** Continues after the server's first head. */
  #begin(head: AnswerHead | undefined): void {
    clearTimeout(this.#handshake);
    if (head !== "go") return this.#receive(head);
    this.#sending = true;
    readAnswerHead(this.#reader, (answer) => this.#receive(answer));
    this.#socket.cork();
    for (const piece of this.#call.message) this.#socket.write(piece);
    this.#socket.uncork();
  }

  #receive(head: AnswerHead | undefined): void {
    if (head === undefined || head === "go") return this.#lost("the answer is not one of a runner");
    const { status: code, text, length, metadata } = head;
    if (code !== 0) return this.#end(failed(statusName(code), text, metadata));
    if (length > this.#maxBytes) {
      const details = `Received message larger than max (${length} vs ${this.#maxBytes})`;
      return this.#end(failed("RESOURCE_EXHAUSTED", details));
    }
    this.#reader.expect(length, (response) => this.#end({ failure: null, response, trailers: metadata }));
  }

  #lost(why: string): void {
    // Making an error is expensive, and the end of the connection follows each answer.
    if (this.#ended) return;
    this.#end(this.#sending ? failed("UNAVAILABLE", why) : undefined);
  }

  #end(answer: Answer | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#handshake);
    clearTimeout(this.#deadline);
    this.#socket.destroy();
    this.#settle(answer);
  }
}
