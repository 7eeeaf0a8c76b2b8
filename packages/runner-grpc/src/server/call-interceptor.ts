import { constants, type ServerHttp2Stream } from "node:http2";
import {
  type Metadata,
  ResponderBuilder,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  ServerListenerBuilder,
} from "@grpc/grpc-js";
import type { TokenFile } from "../setup/token-file.ts";
import { DEADLINE_SLACK_MS } from "../wire/limits.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { RUN_FUNCTION } from "../wire/service-definition.ts";
import type { Admission, Ticket } from "./admission.ts";
import { failureOf } from "./failure.ts";
import { streamOf } from "./grpc-js-internals.ts";

/** What a call must have to get past the gate of its listener. */
export interface GateOptions {
  readonly admission: Admission;
  /** Asked of every call but health checks. */
  readonly token: TokenFile | undefined;
  /** How long a caller may take to send its message, and to take its answer, in milliseconds. */
  readonly messageTimeoutMs: number;
  /** Told of each call that was turned away. */
  readonly onRefused: (error: RunnerGrpcError) => void;
}

// Probes of Kubernetes cannot send a token, and the answer says no more than whether anybody is there.
const OPEN_METHODS: ReadonlySet<string> = new Set(["/grpc.health.v1.Health/Check"]);

/** Why the signal of a call is aborted that has its answer. */
const ANSWERED = "the call is over";

/** A call that is past the gate. */
export interface Admitted {
  readonly ticket: Ticket;
  /**
   * Aborted when the caller cancels, when its deadline has passed, when its connection is lost - and when the call is over. The
   * handler's own `cancelled` event is not emitted where that happens before the handler is called.
   */
  readonly aborter: AbortController;
}

/** Calls that are past the gate, by the metadata object that the handler is given as well. */
export type AdmittedCalls = WeakMap<Metadata, Admitted>;

/** Turns callers away by their headers alone: before a byte of a message, which may be 100 MiB, is taken in. */
export function gate(options: GateOptions, admitted: AdmittedCalls): ServerInterceptor {
  return (method, call) => {
    const isRun = method.path === RUN_FUNCTION.path;
    const aborter = new AbortController();
    let answering = false;
    const answer = (): void => {
      if (!answering) endAfter(streamOf(call), options.messageTimeoutMs);
      answering = true;
    };
    let ticket: Ticket | undefined;
    let timer: NodeJS.Timeout | undefined;
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        try {
          if (options.token !== undefined && !OPEN_METHODS.has(method.path)) authenticate(metadata, options.token);
          metadata.remove("authorization");
          if (isRun) {
            ticket = options.admission.admit();
            admitted.set(metadata, { ticket, aborter });
            timer = messageTimer(call, options.messageTimeoutMs);
          }
        } catch (thrown) {
          const error = asError(thrown);
          call.sendStatus(failureOf(error));
          if (isRun) options.onRefused(error);
          return;
        }
        next(metadata);
      })
      // The handler waits for this, not only for the message.
      .withOnReceiveHalfClose((next) => {
        clearTimeout(timer);
        next();
      })
      // Comes at the end of every call, however it ended.
      .withOnCancel(() => {
        clearTimeout(timer);
        if (ticket === undefined) return;
        // An error is dear to make, and nobody waits for this one.
        aborter.abort(answering ? ANSWERED : gone(call));
        ticket.leave();
      })
      .build();
    const responder = new ResponderBuilder()
      .withStart((next) => next(listener))
      .withSendMessage((message, next) => {
        if (isRun) answer();
        next(message);
      })
      .withSendStatus((status, next) => {
        answer();
        next(status);
      })
      .build();
    return new ServerInterceptingCall(call, responder);
  };
}

function authenticate(metadata: Metadata, token: TokenFile): void {
  const [header, ...others] = metadata.get("authorization");
  const given = typeof header === "string" ? /^Bearer +(\S+)$/i.exec(header)?.[1] : undefined;
  if (given === undefined || others.length > 0) {
    throw new RunnerGrpcError(
      "Unauthenticated",
      'this runner wants a token: send the header "authorization: Bearer TOKEN"',
    );
  }
  if (!token.accepts(given)) throw new RunnerGrpcError("Unauthenticated", "this runner does not know the token");
}

// Whoever holds a place without sending what is to be run keeps others out of it.
function messageTimer(call: ServerInterceptingCallInterface, ms: number): NodeJS.Timeout {
  return setTimeout(() => {
    const message = `the request did not arrive within ${ms} ms of its headers`;
    call.sendStatus(failureOf(new RunnerGrpcError("Timeout", message, { phase: "start" })));
  }, ms);
}

// Whoever does not take its answer, which may have 100 MiB, would keep it and its place for as long as it stays connected.
function endAfter(stream: ServerHttp2Stream | undefined, ms: number): void {
  if (stream === undefined || stream.closed) return;
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), ms);
  stream.once("close", () => clearTimeout(timer));
}

function gone(call: ServerInterceptingCallInterface): RunnerGrpcError {
  return Number(call.getDeadline()) - DEADLINE_SLACK_MS <= Date.now()
    ? new RunnerGrpcError("Timeout", "the caller's deadline has passed", { phase: "timeout" })
    : new RunnerGrpcError("Aborted", "the caller cancelled the call, or its connection was lost");
}

function asError(thrown: unknown): RunnerGrpcError {
  if (thrown instanceof RunnerGrpcError) return thrown;
  // The token file cannot be read now: nobody is let in. Its path is the operator's business.
  return new RunnerGrpcError("Unavailable", "this runner cannot check tokens at the moment", { cause: thrown });
}
