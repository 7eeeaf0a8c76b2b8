import type { Socket } from "node:net";
import { status } from "@grpc/grpc-js";
import { MAX_TIMER_MS } from "@xfn/units";
import type { ExactReader } from "../wire/exact-reader.ts";
import { lengthOf, type MessagePieces } from "../wire/large-message.ts";
import { MAX_MESSAGE_BYTES } from "../wire/limits.ts";
import { encodeAnswerHead, type RequestHead } from "../wire/plain-call.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { RUN_FUNCTION } from "../wire/service-definition.ts";
import type { Ticket } from "./admission.ts";
import { ANSWERED, authenticate, gone, messageMissing, refusalOf } from "./authenticate.ts";
import type { Admitted, CallInterceptorOptions } from "./call-interceptor.ts";
import { failureOf } from "./failure.ts";
import { identifyCaller } from "./identify-caller.ts";
import type { MessageMemory } from "./message-memory.ts";
import type { ReceivedCall, SendAnswer } from "./run-call.ts";

/** Serves a call whose message has arrived. Settles once its run no longer uses the message. */
export type ServePlainCall = (call: ReceivedCall, admitted: Admitted, answer: SendAnswer) => Promise<void>;

/** The requirements of plain calls, and their handler. */
export interface PlainCallOptions extends CallInterceptorOptions {
  readonly memory: MessageMemory;
  /** The served methods. */
  readonly paths: ReadonlySet<string>;
  readonly serve: ServePlainCall;
}

/** One plain call, from its head until its answer was sent. */
export class PlainCall {
  readonly #head: RequestHead;
  readonly #socket: Socket;
  readonly #reader: ExactReader;
  readonly #options: PlainCallOptions;
  readonly #aborter = new AbortController();
  /** The timeout of the message, and then of the answer. */
  #timer: NodeJS.Timeout | undefined;
  #deadline = Infinity;
  #deadlineTimer: NodeJS.Timeout | undefined;
  #ticket: Ticket | undefined;
  #hasMessage = false;
  #answering = false;
  readonly #ended = Promise.withResolvers<void>();

  constructor(head: RequestHead, socket: Socket, reader: ExactReader, options: PlainCallOptions) {
    this.#head = head;
    this.#socket = socket;
    this.#reader = reader;
    this.#options = options;
  }

  /** Admits the call by its head, then reads its message. */
  begin(): void {
    const { timeoutMs, length } = this.#head;
    try {
      this.#admit(this.#head);
    } catch (thrown) {
      const error = refusalOf(thrown);
      this.#answer(failureOf(error));
      this.#options.onRefused(error);
      return;
    }
    const { messageTimeoutMs, memory } = this.#options;
    this.#restartTimer(() => this.#answer(failureOf(messageMissing(messageTimeoutMs))));
    this.#deadlineTimer = setTimeout(() => this.#deadlinePassed(), timeoutMs);
    this.#reader.expectInto(memory.take(length), (message) => void this.#serve(message));
    this.#socket.write(encodeAnswerHead("go"));
  }

  /** Frees the resources of the call. Also called at the end of the connection. */
  end(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#deadlineTimer);
    // Creating an error is expensive, and no run of an answered call would read it.
    this.#aborter.abort(this.#answering ? ANSWERED : gone(this.#deadline));
    this.#ticket?.leave();
    this.#ended.resolve();
  }

  #admit({ path, length, timeoutMs, metadata }: RequestHead): void {
    const { token, admission, paths } = this.#options;
    if (!paths.has(path)) throw new RunnerGrpcError("Unimplemented", "this runner does not serve that method");
    const given = token && authenticate(metadata, token);
    metadata.remove("authorization");
    if (length > MAX_MESSAGE_BYTES) {
      const message = `the request has ${length} bytes; the maximum is ${MAX_MESSAGE_BYTES}`;
      throw new RunnerGrpcError("InputTooLarge", message);
    }
    if (timeoutMs > MAX_TIMER_MS) {
      throw new RunnerGrpcError("InvalidRequest", `the call's timeout must be at most ${MAX_TIMER_MS} ms`);
    }
    this.#deadline = Date.now() + timeoutMs;
    const caller = identifyCaller(this.#socket, given);
    this.#ticket = admission.admit(caller, this.#deadline, (error) => this.#displaced(error));
    this.#ticket.input(length);
  }

  async #serve(message: Buffer): Promise<void> {
    const { path, metadata } = this.#head;
    clearTimeout(this.#timer);
    this.#hasMessage = true;
    // The sender of a late message already has its answer.
    if (this.#answering || this.#ticket === undefined) return;
    const call = { path, metadata, message, deadline: this.#deadline };
    const admitted = { ticket: this.#ticket, aborter: this.#aborter };
    let pieces: MessagePieces = [];
    await this.#options.serve(call, admitted, (answer) => {
      if ("message" in answer) pieces = answer.message;
      this.#answer(answer);
    });
    // The answer may contain parts of the message.
    await this.#ended.promise;
    // A connection to a function's server may still use both.
    if (path !== RUN_FUNCTION.path) return;
    this.#options.memory.release(message);
    for (const piece of pieces) this.#options.memory.releaseOutput(piece);
  }

  /** Ends a call that another call has displaced. A call whose message has arrived is already being served. */
  #displaced(error: RunnerGrpcError): void {
    this.#aborter.abort(error);
    if (this.#hasMessage || this.#answering) return;
    this.#reader.discard();
    this.#answer(failureOf(error));
    this.#options.onRefused(error);
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
    // A caller that does not receive its answer must not keep memory and its admission.
    this.#restartTimer(() => this.#socket.destroy());
    const socket = this.#socket;
    socket.cork();
    if ("code" in answer) {
      const { code, details, metadata } = answer;
      socket.write(encodeAnswerHead({ status: code, text: details, length: 0, metadata }));
      // The caller may still be sending its message.
      socket.end();
    } else {
      const { message, trailers } = answer;
      const head = { status: status.OK, text: "", length: lengthOf(message), metadata: trailers };
      socket.write(encodeAnswerHead(head));
      for (const piece of message) socket.write(piece);
      socket.end();
    }
    socket.uncork();
  }

  #restartTimer(onTimeout: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(onTimeout, this.#options.messageTimeoutMs);
  }
}
