import { MAX_TIMER_MS } from "@xfn/units";
import { lengthOf } from "../wire/large-message.ts";
import { type AnswerHead, encodeRequestHead, readAnswerHead } from "../wire/plain-call.ts";
import { statusName } from "../wire/status-codes.ts";
import { type Answer, failed, type OutgoingCall, type RunningCall } from "./answer.ts";
import { type Connect, PlainConnection } from "./plain-connection.ts";

// A server answers the head at once. A server without plain calls closes the connection, or does not answer.
const HANDSHAKE_MS = 2_000;

/** Open connections that wait for their next call. */
export interface IdleConnections {
  take(onLost: (why: string) => void): PlainConnection | undefined;
  add(connection: PlainConnection): void;
}

export class PlainCall implements RunningCall {
  /**
   * Resolves with undefined if the server does not support plain calls. The message was not sent then, and the call can
   * be made in another way.
   */
  readonly answer: Promise<Answer | undefined>;
  readonly #settle: (answer: Answer | undefined) => void;
  readonly #connect: Connect;
  readonly #call: OutgoingCall;
  readonly #maxBytes: number;
  readonly #idle: IdleConnections | undefined;
  readonly #onLost = (why: string): void => this.#lost(why);
  #connection: PlainConnection;
  /** Whether a call has used the connection before. */
  #isUsed: boolean;
  readonly #handshake: NodeJS.Timeout;
  readonly #deadline: NodeJS.Timeout;
  /** Whether the message is being sent. */
  #sending = false;
  #ended = false;

  /**
   * @param maxBytes limit of the answer's message
   * @param idle connections to reuse, and to return the connection to; by default the connection ends with the call
   */
  constructor(connect: Connect, call: OutgoingCall, maxBytes: number, idle?: IdleConnections) {
    const { promise, resolve } = Promise.withResolvers<Answer | undefined>();
    this.answer = promise;
    this.#settle = resolve;
    this.#connect = connect;
    this.#call = call;
    this.#maxBytes = maxBytes;
    this.#idle = idle;
    const used = idle?.take(this.#onLost);
    this.#isUsed = used !== undefined;
    this.#connection = used ?? new PlainConnection(connect, this.#onLost);
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
    const keep = this.#idle !== undefined;
    readAnswerHead(this.#connection.reader, (head) => this.#begin(head));
    const head = { path, timeoutMs: this.#timeoutMs(), length: lengthOf(message), metadata, keep };
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
    const { status: code, text, length, metadata, keep } = head;
    if (code !== 0) return this.#end(failed(statusName(code), text, metadata));
    if (length > this.#maxBytes) {
      const details = `Received message larger than max (${length} vs ${this.#maxBytes})`;
      return this.#end(failed("RESOURCE_EXHAUSTED", details));
    }
    this.#connection.reader.expect(length, (response) =>
      this.#end({ failure: null, response, trailers: metadata }, keep),
    );
  }

  #lost(why: string): void {
    // Creating an error is expensive, and the end of the connection follows each answer.
    if (this.#ended) return;
    if (this.#sending) return this.#end(failed("UNAVAILABLE", why));
    if (!this.#isUsed) return this.#end(undefined);
    // The server has closed the connection since its last call.
    this.#isUsed = false;
    this.#connection = new PlainConnection(this.#connect, this.#onLost);
    this.#start();
  }

  #end(answer: Answer | undefined, keep = false): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#handshake);
    clearTimeout(this.#deadline);
    if (keep && this.#idle !== undefined) this.#idle.add(this.#connection);
    else this.#connection.close();
    this.#settle(answer);
  }
}
