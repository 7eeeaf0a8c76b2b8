import { type Client, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { onAbort } from "@xfn/lifetime";
import { DEFAULT_TIMEOUT_MS, type FunctionRunner, type RunOptions } from "@xfn/runner-contract";
import { PeerLimitError } from "@xfn/runner-contract/peer-limits";
import { currentTrace } from "@xfn/runner-contract/trace-context";
import { type Endpoint, parseEndpoint } from "../setup/endpoint.ts";
import { RunnerSetupError } from "../setup/setup-error.ts";
import { openTokenFile, type TokenFile } from "../setup/token-file.ts";
import { readReport, STEP_KEY } from "../wire/call-trailers.ts";
import { PACKAGE_KEY } from "../wire/function-service.ts";
import { writeType } from "../wire/function-type.ts";
import type { MessagePieces } from "../wire/large-message.ts";
import { DEADLINE_SLACK_MS, DEFAULT_MARGIN_MS, MAX_STEP_BYTES, MAX_TIMEOUT_MS } from "../wire/limits.ts";
import { PULL_KEY, pullHeaderOf } from "../wire/pull-config.ts";
import { encodeRequest } from "../wire/request.ts";
import { RunFunctionResponse } from "../wire/run-function.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { RUN_FUNCTION } from "../wire/service-definition.ts";
import type { Answer, OutgoingCall, RunningCall } from "./answer.ts";
import { maxAnswerOf, maxOutputOf, openChannel, type RunnerClientOptions } from "./channel.ts";
import { connectorTo } from "./connect.ts";
import { errorOfCall, unconnectedMessage } from "./error-of-call.ts";
import { CallBudget } from "./metered-credentials.ts";
import { PlainPath } from "./plain-path.ts";

/** A connection to a runner. Connects on demand and reconnects after a loss. `run` rejects with a `RunnerGrpcError`. */
export interface RunnerClient extends FunctionRunner {
  /** Connects. @throws RunnerGrpcError `Unavailable` if the connection takes longer */
  ready(timeoutMs: number): Promise<void>;
  /**
   * Calls a method of a function package, which the runner serves as a gRPC server. The messages are not decoded.
   *
   * @param path `/package.Service/Method`
   */
  callFunction(image: string, path: string, message: Uint8Array, options?: FunctionCallOptions): Promise<Uint8Array>;
  /** Ends running calls (`Closed`), then closes the connection. */
  close(): void;
}

/** Options of {@link RunnerClient.callFunction}. */
export type FunctionCallOptions = Pick<
  RunOptions,
  "timeoutMs" | "step" | "pullPolicy" | "auth" | "signal" | "onPhase" | "onStderr"
>;

/** Creates a client of a runner. It connects on the first call. @throws RunnerSetupError */
export function createRunnerClient(options: RunnerClientOptions): RunnerClient {
  return new GrpcRunnerClient(options);
}

/** Creates an error that names the image and step of a call. */
type Fail = (code: string, message: string, cause?: unknown) => RunnerGrpcError;

class GrpcRunnerClient implements RunnerClient {
  readonly maxOutputBytes: number;
  readonly #endpoint: Endpoint;
  readonly #token: TokenFile | undefined;
  readonly #marginMs: number;
  readonly #channel: Client;
  readonly #maxAnswer: number;
  readonly #plain: PlainPath;
  readonly #calls = new Set<RunningCall>();
  #closed = false;

  constructor(options: RunnerClientOptions) {
    this.maxOutputBytes = maxOutputOf(options);
    this.#endpoint = parseEndpoint(options.endpoint);
    this.#token = options.tokenFile === undefined ? undefined : openTokenFile(options.tokenFile);
    this.#marginMs = options.marginMs ?? DEFAULT_MARGIN_MS;
    if (!(this.#marginMs >= 0 && this.#marginMs <= MAX_TIMEOUT_MS)) {
      throw new RunnerSetupError("InvalidOption", `marginMs must be between 0 and ${MAX_TIMEOUT_MS}`);
    }
    this.#maxAnswer = maxAnswerOf(options);
    this.#channel = openChannel(this.#endpoint, options);
    this.#plain = new PlainPath(connectorTo(this.#endpoint, options), this.#maxAnswer);
  }

  async run(image: string, input: Uint8Array, options: RunOptions = {}): Promise<Uint8Array> {
    const request = encodeRequest(image, input, options);
    const metadata = new Metadata();
    writeType(metadata, options);
    const response = await this.#call(image, RUN_FUNCTION.path, request, metadata, options);
    return outputOf(response, failureOf(image, options));
  }

  async callFunction(
    image: string,
    path: string,
    message: Uint8Array,
    options: FunctionCallOptions = {},
  ): Promise<Uint8Array> {
    const metadata = new Metadata();
    try {
      metadata.set(PACKAGE_KEY, image);
    } catch (cause) {
      throw failureOf(image, options)("InvalidRequest", `${JSON.stringify(image)} is not the name of a package`, cause);
    }
    const pull = pullHeaderOf(options);
    if (pull !== undefined) metadata.set(PULL_KEY, pull);
    return await this.#call(image, path, [message], metadata, options);
  }

  /** @returns the response's message */
  async #call(
    image: string,
    path: string,
    message: MessagePieces,
    metadata: Metadata,
    options: RunOptions,
  ): Promise<Uint8Array> {
    const { step, signal } = options;
    const fail = failureOf(image, options);
    if (this.#closed) throw fail("Closed", `the client of the runner at ${this.#endpoint.text} is closed`);
    if (signal?.aborted === true) throw fail("Aborted", `the call of ${image} was aborted`, signal.reason);
    addRequestMetadata(metadata, step, this.#token, fail);
    const deadline = Date.now() + (options.timeoutMs ?? DEFAULT_TIMEOUT_MS) + this.#marginMs;
    const call = { path, message, metadata, deadline, signal };
    const errorOf = (answer: Answer): RunnerGrpcError | undefined =>
      this.#errorOf(answer, image, deadline, options, fail);
    let answer = await this.#send(call);
    let error = errorOf(answer);
    // Retry as gRPC does: another runner, or another connection, may accept the call at once. Retry only once, because
    // the runner decides what it reports.
    if (error?.undelivered === true && error.retryable && !isUnconnected(answer.failure)) {
      const second = await this.#send(call);
      // A restarting runner rejects the call, then the connection. Only the first rejection says when to retry.
      if (!isUnconnected(second.failure)) [answer, error] = [second, errorOf(second)];
    }
    const { response, trailers } = answer;
    if (error?.stderr !== undefined) options.onStderr?.(error.stderr);
    if (trailers !== undefined) readReport(trailers, options);
    if (error !== undefined) throw error;
    return response;
  }

  ready(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#channel.waitForReady(Date.now() + timeoutMs, (cause) => {
        if (cause === undefined) return resolve();
        const message = `no runner answers at ${this.#endpoint.text}: ${cause.message}`;
        reject(new RunnerGrpcError("Unavailable", message, { cause }));
      });
    });
  }

  close(): void {
    this.#closed = true;
    for (const call of this.#calls) call.cancel();
    this.#channel.close();
  }

  async #send(call: OutgoingCall): Promise<Answer> {
    const plain = this.#plain.start(call);
    if (plain !== undefined) {
      const answer = await this.#while(plain, call, plain.answer);
      if (answer !== undefined) return answer;
      this.#plain.unsupported();
    }
    return await this.#sendByGrpc(call);
  }

  async #sendByGrpc(call: OutgoingCall): Promise<Answer> {
    const { path, message, metadata, deadline } = call;
    const { promise, resolve } = Promise.withResolvers<Omit<Answer, "trailers">>();
    const { requestSerialize, responseDeserialize } = RUN_FUNCTION;
    const budget = new CallBudget(this.#maxAnswer);
    const sent = this.#channel.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      Buffer.concat(message),
      metadata,
      { deadline, credentials: budget },
      (failure, response = new Uint8Array()) => resolve({ failure, response }),
    );
    // The trailers are emitted in the same turn as the callback, so before the promise continues.
    let trailers: Metadata | undefined;
    sent.on("status", (status) => {
      trailers = status.metadata;
    });
    const answer = await this.#while(sent, call, promise);
    budget.end();
    return { ...answer, trailers, isExcess: budget.exceeded };
  }

  /** Waits for the end of a call. The call's signal, and the end of this client, cancel it. */
  async #while<T>(running: RunningCall, { signal }: OutgoingCall, end: Promise<T>): Promise<T> {
    this.#calls.add(running);
    const forget = onAbort(signal, () => running.cancel());
    try {
      return await end;
    } finally {
      this.#calls.delete(running);
      forget();
    }
  }

  #errorOf(
    { failure, isExcess = false }: Answer,
    image: string,
    deadline: number,
    { step, signal }: RunOptions,
    fail: Fail,
  ): RunnerGrpcError | undefined {
    if (failure === null) return undefined;
    if (signal?.aborted === true) return fail("Aborted", `the call of ${image} was aborted`, signal.reason);
    if (this.#closed) return fail("Closed", `the client was closed while ${image} ran`);
    if (isExcess)
      return fail("Internal", `the runner at ${this.#endpoint.text}: ${new PeerLimitError().message}`, failure);
    const deadlinePassed = Date.now() >= deadline - DEADLINE_SLACK_MS;
    return errorOfCall(failure, { image, step, endpoint: this.#endpoint.text, deadlinePassed });
  }
}

function isUnconnected(failure: ServiceError | null | undefined): boolean {
  return failure?.code === status.UNAVAILABLE && unconnectedMessage(failure.details, "") !== undefined;
}

function outputOf(response: Uint8Array, fail: Fail): Uint8Array {
  try {
    return RunFunctionResponse.decode(response).output;
  } catch (cause) {
    const message = "the runner's answer is not a RunFunctionResponse: check that a runner listens at this endpoint";
    throw fail("Internal", message, cause);
  }
}

function failureOf(image: string, { step }: Pick<RunOptions, "step">): Fail {
  return (code, message, cause) => new RunnerGrpcError(code, message, { image, step, cause });
}

function addRequestMetadata(
  metadata: Metadata,
  step: string | undefined,
  token: TokenFile | undefined,
  fail: Fail,
): void {
  if (step !== undefined && step !== "") {
    metadata.set(STEP_KEY, Buffer.from(step, "utf8").subarray(0, MAX_STEP_BYTES));
  }
  const { traceparent, tracestate } = currentTrace();
  if (traceparent !== undefined) metadata.set("traceparent", traceparent);
  if (tracestate !== undefined) metadata.set("tracestate", tracestate);
  if (token === undefined) return;
  try {
    metadata.set("authorization", `Bearer ${token.current()}`);
  } catch (cause) {
    // The file was readable at the start, so it is probably being replaced.
    throw fail("Unavailable", cause instanceof Error ? cause.message : "the token file is not usable", cause);
  }
}
