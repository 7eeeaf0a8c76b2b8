import { Socket, type SocketConstructorOpts } from "node:net";
import { TLSSocket } from "node:tls";
import { status } from "@grpc/grpc-js";
import { MAX_TIMER_MS } from "@xfn/units";
import { ExactReader } from "../wire/exact-reader.ts";
import { lengthOf, type MessagePieces } from "../wire/large-message.ts";
import { MAX_MESSAGE_BYTES } from "../wire/limits.ts";
import { encodeAnswerHead, type RequestHead, readRequestHead } from "../wire/plain-call.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { RUN_FUNCTION } from "../wire/service-definition.ts";
import type { Ticket } from "./admission.ts";
import { ANSWERED, authenticate, gone, messageMissing, refusalOf } from "./authenticate.ts";
import type { Admitted, CallInterceptorOptions } from "./call-interceptor.ts";
import { failureOf } from "./failure.ts";
import type { MessageMemory } from "./message-memory.ts";
import { takeHandle } from "./node-internals.ts";
import type { ReceivedCall, SendAnswer } from "./run-call.ts";

/** Serves a call whose message has arrived. Settles once its run no longer uses the message. */
export type ServePlainCall = (call: ReceivedCall, admitted: Admitted, answer: SendAnswer) => Promise<void>;

type PlainCallOptions = CallInterceptorOptions & {
  readonly paths: ReadonlySet<string>;
  readonly memory: MessageMemory;
  readonly serve: ServePlainCall;
};

/** One plain call, from the first bytes of its connection to its end. */
export class PlainCall {
  readonly #options: PlainCallOptions;
  readonly #socket: Socket;
  readonly #reader = new ExactReader(() => this.close());
  readonly #aborter = new AbortController();
  /** Until the head has arrived, then until the message has, and then until the answer has left. */
  #timer: NodeJS.Timeout;
  #deadline = Infinity;
  #deadlineTimer: NodeJS.Timeout | undefined;
  #ticket: Ticket | undefined;
  #answering = false;
  readonly #closed = Promise.withResolvers<void>();

  /**
   * @param first the bytes that were read from the socket
   * @param onClosed called at the end of the connection
   */
  constructor(socket: Socket, first: Buffer, options: PlainCallOptions, onClosed: () => void) {
    this.#options = options;
    this.#timer = setTimeout(() => this.close(), options.messageTimeoutMs);
    this.#socket = readInto(this.#reader, socket);
    this.#socket.on("error", () => this.close());
    this.#socket.once("close", () => {
      this.#end();
      onClosed();
    });
    readRequestHead(this.#reader, (head) => this.#begin(head));
    this.#reader.feed(first);
  }

  /** Closes the connection, which ends the call. */
  close(): void {
    this.#socket.destroy();
  }

  /** Admits the call by its head, then reads its message. */
  #begin(head: RequestHead | undefined): void {
    // Not a client of plain calls.
    if (head === undefined) return this.close();
    try {
      this.#admit(head);
    } catch (thrown) {
      const error = refusalOf(thrown);
      this.#answer(failureOf(error));
      this.#options.onRefused(error);
      return;
    }
    const { messageTimeoutMs } = this.#options;
    this.#restartTimer(() => this.#answer(failureOf(messageMissing(messageTimeoutMs))));
    this.#deadlineTimer = setTimeout(() => this.#deadlinePassed(), head.timeoutMs);
    this.#reader.expectInto(this.#options.memory.take(head.length), (message) => void this.#serve(head, message));
    this.#socket.write(encodeAnswerHead("go"));
  }

  #admit({ path, length, timeoutMs, metadata }: RequestHead): void {
    const { token, admission, paths } = this.#options;
    if (!paths.has(path)) throw new RunnerGrpcError("Unimplemented", "this runner does not serve that method");
    if (token !== undefined) authenticate(metadata, token);
    metadata.remove("authorization");
    if (length > MAX_MESSAGE_BYTES) {
      const message = `the request has ${length} bytes; the maximum is ${MAX_MESSAGE_BYTES}`;
      throw new RunnerGrpcError("InputTooLarge", message);
    }
    if (timeoutMs > MAX_TIMER_MS) {
      throw new RunnerGrpcError("InvalidRequest", `the call's timeout must be at most ${MAX_TIMER_MS} ms`);
    }
    this.#deadline = Date.now() + timeoutMs;
    this.#ticket = admission.admit();
    this.#ticket.input(length);
  }

  async #serve({ path, metadata }: RequestHead, message: Buffer): Promise<void> {
    clearTimeout(this.#timer);
    // The sender of a late message has its answer already.
    if (this.#answering || this.#ticket === undefined) return;
    const call = { path, metadata, message, deadline: this.#deadline };
    const admitted = { ticket: this.#ticket, aborter: this.#aborter };
    let pieces: MessagePieces = [];
    await this.#options.serve(call, admitted, (answer) => {
      if ("message" in answer) pieces = answer.message;
      this.#answer(answer);
    });
    // The answer may contain parts of the message.
    await this.#closed.promise;
    // A connection to a server of a function may still use both.
    if (path !== RUN_FUNCTION.path) return;
    this.#options.memory.release(message);
    for (const piece of pieces) this.#options.memory.releaseOutput(piece);
  }

  #deadlinePassed(): void {
    const error = gone(this.#deadline);
    this.#aborter.abort(error);
    this.#answer(failureOf(error));
  }

  #answer(answer: Parameters<SendAnswer>[0]): void {
    // A timer for a connection that is closed would keep the call in memory until it fires.
    if (this.#answering || this.#socket.destroyed) return;
    this.#answering = true;
    clearTimeout(this.#deadlineTimer);
    // A caller that does not receive its answer must not occupy memory and its admission.
    this.#restartTimer(() => this.close());
    const socket = this.#socket;
    socket.cork();
    if ("code" in answer) {
      const { code, details, metadata } = answer;
      socket.write(encodeAnswerHead({ status: code, text: details, length: 0, metadata }));
    } else {
      const { message, trailers } = answer;
      socket.write(encodeAnswerHead({ status: status.OK, text: "", length: lengthOf(message), metadata: trailers }));
      for (const piece of message) socket.write(piece);
    }
    socket.end();
    socket.uncork();
  }

  #restartTimer(onTimeout: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(onTimeout, this.#options.messageTimeoutMs);
  }

  #end(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#deadlineTimer);
    // Making an error is expensive, and no run of an answered call would see it.
    this.#aborter.abort(this.#answering ? ANSWERED : gone(this.#deadline));
    this.#ticket?.leave();
    this.#closed.resolve();
  }
}

/** Lets a reader have the bytes of a socket. @returns the socket to use from then on */
function readInto(reader: ExactReader, socket: Socket): Socket {
  // TLS decrypts into chunks of its own anyway.
  const handle = socket instanceof TLSSocket ? undefined : takeHandle(socket);
  if (handle === undefined) return socket.on("data", (chunk: Buffer) => reader.feed(chunk));
  const taken = new Socket({ handle, onread: reader.onread } as SocketConstructorOpts);
  // The listener counts the first socket.
  taken.once("close", () => socket.destroy());
  return taken.resume();
}
