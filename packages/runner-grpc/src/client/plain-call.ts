import { MAX_TIMER_MS } from "@xfn/units";
import { lengthOf } from "../wire/large-message.ts";
import { type AnswerHead, encodeRequestHead, readAnswerHead } from "../wire/plain-call.ts";
import { statusName } from "../wire/status-codes.ts";
import { type Answer, failed, type OutgoingCall, type RunningCall } from "./answer.ts";
import { type Connect, PlainConnection } from "./plain-connection.ts";

// A server answers the head at once. A server without plain calls closes the connection, or does not answer.
const HANDSHAKE_MS = 2_000;

/** A call on a connection of its own. */
export class PlainCall implements RunningCall {
  /**
   * Resolves with undefined if the server does not support plain calls. The message was not sent then, and the call can
   * be made in another way.
   */
  readonly answer: Promise<Answer | undefined>;
  readonly #settle: (answer: Answer | undefined) => void;
  readonly #call: OutgoingCall;
  readonly #maxBytes: number;
  readonly #connection: PlainConnection;
  readonly #handshake: NodeJS.Timeout;
  readonly #deadline: NodeJS.Timeout;
  /** Whether the message is being sent. */
  #sending = false;
  #ended = false;

  /** @param maxBytes limit of the answer's message */
  constructor(connect: Connect, call: OutgoingCall, maxBytes: number) {
    const { promise, resolve } = Promise.withResolvers<Answer | undefined>();
    this.answer = promise;
    this.#settle = resolve;
    this.#call = call;
    this.#maxBytes = maxBytes;
    this.#connection = new PlainConnection(connect, (why) => this.#lost(why));
    this.#handshake = setTimeout(() => this.#end(undefined), HANDSHAKE_MS);
    this.#deadline = setTimeout(() => this.#end(failed("DEADLINE_EXCEEDED", "Deadline exceeded")), this.#timeoutMs());
    this.#start();
  }

  cancel(): void {
    this.#end(failed("CANCELLED", "Cancelled on client"));
  }

  #timeoutMs(): number {
    return Math.min(Math.max(Math.ceil(this.#call.deadline - Date.now()), 0), MAX_TIMER_MS);
  }

  #start(): void {
    const { path, metadata, message } = this.#call;
    readAnswerHead(this.#connection.reader, (head) => this.#begin(head));
    const head = { path, timeoutMs: this.#timeoutMs(), length: lengthOf(message), metadata };
    this.#connection.write([encodeRequestHead(head)]);
  }

  /** Continues after the server's first head. */
  #begin(head: AnswerHead | undefined): void {
    clearTimeout(this.#handshake);
    if (head !== "go") return this.#receive(head);
    this.#sending = true;
    readAnswerHead(this.#connection.reader, (answer) => this.#receive(answer));
    this.#connection.write(this.#call.message);
  }

  #receive(head: AnswerHead | undefined): void {
    if (head === undefined || head === "go") return this.#lost("the answer is not one of a runner");
    const { status: code, text, length, metadata } = head;
    if (code !== 0) return this.#end(failed(statusName(code), text, metadata));
    if (length > this.#maxBytes) {
      const details = `Received message larger than max (${length} vs ${this.#maxBytes})`;
      return this.#end(failed("RESOURCE_EXHAUSTED", details));
    }
    this.#connection.reader.expect(length, (response) => this.#end({ failure: null, response, trailers: metadata }));
  }

  #lost(why: string): void {
    // Creating an error is expensive, and the end of the connection follows each answer.
    if (this.#ended) return;
    this.#end(this.#sending ? failed("UNAVAILABLE", why) : undefined);
  }

  #end(answer: Answer | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#handshake);
    clearTimeout(this.#deadline);
    this.#connection.close();
    this.#settle(answer);
  }
}
