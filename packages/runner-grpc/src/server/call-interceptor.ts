import { constants, type ServerHttp2Stream } from "node:http2";
import {
  Metadata,
  ResponderBuilder,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  ServerListenerBuilder,
} from "@grpc/grpc-js";
import type { TokenFile } from "../setup/token-file.ts";
import { RUN_PATHS } from "../wire/function-service.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import type { Admission, Ticket } from "./admission.ts";
import { ANSWERED, authenticate, gone, messageMissing, refusalOf } from "./authenticate.ts";
import { failureOf } from "./failure.ts";
import { encodingOf, streamOf } from "./grpc-js-internals.ts";
import { identifyCaller } from "./identify-caller.ts";

/** The requirements of a listener for its calls. */
export interface CallInterceptorOptions {
  readonly admission: Admission;
  /** Required of every call except health checks. */
  readonly token: TokenFile | undefined;
  /** The time that a caller may take to send its message, and to receive its answer, in milliseconds. */
  readonly messageTimeoutMs: number;
  /** Called for each rejected call. */
  readonly onRefused: (error: RunnerGrpcError) => void;
}

// Kubernetes probes cannot send a token, and the answer reveals only whether a server listens.
const OPEN_METHODS: ReadonlySet<string> = new Set(["/grpc.health.v1.Health/Check"]);

// https://github.com/grpc/grpc/blob/master/doc/compression.md
const UNCOMPRESSED = new Metadata();
UNCOMPRESSED.set("grpc-accept-encoding", "identity");

export interface Admitted {
  readonly ticket: Ticket;
  /**
   * Aborted when the caller cancels, when its deadline passes, when its connection is lost, and when the call ends. The
   * handler's own `cancelled` event is not emitted if that happens before the handler is called.
   */
  readonly aborter: AbortController;
}

/** Admitted calls, by the metadata object that the handler also receives. */
export type AdmittedCalls = WeakMap<Metadata, Admitted>;

/** Authenticates and admits calls by their headers, before it reads their messages, which may have 100 MiB. */
export function callInterceptor(options: CallInterceptorOptions, admitted: AdmittedCalls): ServerInterceptor {
  return (method, call) => {
    const intercepted = new InterceptedCall(method.path, call, options, admitted);
    return new ServerInterceptingCall(call, intercepted.responder());
  };
}

class InterceptedCall {
  readonly #path: string;
  readonly #isRun: boolean;
  readonly #call: ServerInterceptingCallInterface;
  readonly #options: CallInterceptorOptions;
  readonly #admitted: AdmittedCalls;
  readonly #aborter = new AbortController();
  #hasMessage = false;
  #answering = false;
  #ticket: Ticket | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    path: string,
    call: ServerInterceptingCallInterface,
    options: CallInterceptorOptions,
    admitted: AdmittedCalls,
  ) {
    this.#path = path;
    this.#isRun = RUN_PATHS.has(path);
    this.#call = call;
    this.#options = options;
    this.#admitted = admitted;
  }

  responder(): ReturnType<ResponderBuilder["build"]> {
    const listener = this.#listener();
    return new ResponderBuilder()
      .withStart((next) => next(listener))
      .withSendMetadata((metadata, next) => {
        // By default grpc-js offers gzip and deflate.
        metadata.merge(UNCOMPRESSED);
        next(metadata);
      })
      .withSendMessage((message, next) => {
        if (this.#isRun) this.#answer();
        next(message);
      })
      .withSendStatus((status, next) => {
        this.#answer();
        next(status);
      })
      .build();
  }

  #listener(): ReturnType<ServerListenerBuilder["build"]> {
    return (
      new ServerListenerBuilder()
        .withOnReceiveMetadata((metadata, next) => {
          if (this.#admit(metadata)) next(metadata);
        })
        // The handler waits for the half-close in addition to the message.
        .withOnReceiveHalfClose((next) => {
          clearTimeout(this.#timer);
          this.#hasMessage = true;
          next();
        })
        // Called at the end of every call, however the call ended.
        .withOnCancel(() => this.#end())
        .build()
    );
  }

  /** Whether the call may continue; otherwise it has been answered. */
  #admit(metadata: Metadata): boolean {
    const { token, admission, messageTimeoutMs, onRefused } = this.#options;
    try {
      refuseCompression(encodingOf(this.#call));
      const required = OPEN_METHODS.has(this.#path) ? undefined : token;
      const given = required && authenticate(metadata, required);
      metadata.remove("authorization");
      if (this.#isRun) {
        const caller = identifyCaller(streamOf(this.#call)?.session?.socket, given);
        this.#ticket = admission.admit(caller, Number(this.#call.getDeadline()), (error) => this.#displaced(error));
        this.#admitted.set(metadata, { ticket: this.#ticket, aborter: this.#aborter });
        this.#timer = messageTimer(this.#call, messageTimeoutMs);
        this.#countInput(this.#ticket);
      }
      return true;
    } catch (thrown) {
      const error = refusalOf(thrown);
      const failure = failureOf(error);
      if (error.code === "Unimplemented") failure.metadata.merge(UNCOMPRESSED);
      this.#call.sendStatus(failure);
      if (this.#isRun) onRefused(error);
      return false;
    }
  }

  /** Counts the message as it arrives. Rejects a message that takes too much memory before it is complete. */
  #countInput(ticket: Ticket): void {
    streamOf(this.#call)?.on("data", (chunk: Buffer) => {
      if (this.#answering) return;
      try {
        ticket.input(chunk.length);
      } catch (thrown) {
        this.#refuseMessage(refusalOf(thrown));
      }
    });
  }

  #refuseMessage(error: RunnerGrpcError): void {
    this.#answer();
    this.#call.sendStatus(failureOf(error));
    this.#options.onRefused(error);
    // Frees the received bytes, whether or not the caller continues to send. The status is sent first.
    setImmediate(() => streamOf(this.#call)?.close(constants.NGHTTP2_NO_ERROR));
  }

  /** Ends a call that another call has displaced. The handler answers a call whose message has arrived. */
  #displaced(error: RunnerGrpcError): void {
    this.#aborter.abort(error);
    if (!this.#hasMessage && !this.#answering) this.#refuseMessage(error);
  }

  #answer(): void {
    if (!this.#answering) endAfter(streamOf(this.#call), this.#options.messageTimeoutMs);
    this.#answering = true;
  }

  #end(): void {
    clearTimeout(this.#timer);
    if (this.#ticket === undefined) return;
    // Creating an error is expensive, and no run of an answered call would read it.
    this.#aborter.abort(this.#answering ? ANSWERED : gone(Number(this.#call.getDeadline())));
    this.#ticket.leave();
  }
}

// A compressed message of 100 KB can expand to 100 MiB, and the server would expand many of them at once.
function refuseCompression(encoding: string | undefined): void {
  if (encoding === "identity") return;
  const named =
    encoding === undefined ? "an unknown encoding" : `the encoding ${JSON.stringify(encoding.slice(0, 40))}`;
  throw new RunnerGrpcError(
    "Unimplemented",
    `the request has ${named}: this runner accepts only uncompressed messages (grpc-encoding: identity)`,
  );
}

// A caller that sends no message must not keep its admission.
function messageTimer(call: ServerInterceptingCallInterface, ms: number): NodeJS.Timeout {
  return setTimeout(() => {
    call.sendStatus(failureOf(messageMissing(ms)));
  }, ms);
}

// A caller that does not receive its answer, of up to 100 MiB, must not keep memory and its admission.
function endAfter(stream: ServerHttp2Stream | undefined, ms: number): void {
  if (stream === undefined || stream.closed) return;
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), ms);
  stream.once("close", () => clearTimeout(timer));
}
