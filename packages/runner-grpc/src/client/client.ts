import { type Client, type ClientUnaryCall, Metadata, type ServiceError } from "@grpc/grpc-js";
import { DEFAULT_TIMEOUT_MS, type FunctionRunner, type RunOptions } from "@xfn/runner-contract";
import { RunFunctionResponse } from "../generated/apiextensions/fn/proto/v1alpha1/run_function.ts";
import { type Endpoint, parseEndpoint } from "../setup/endpoint.ts";
import { RunnerSetupError } from "../setup/setup-error.ts";
import { openTokenFile, type TokenFile } from "../setup/token-file.ts";
import { readReport, STEP_KEY } from "../wire/call-trailers.ts";
import { DEADLINE_SLACK_MS, DEFAULT_MARGIN_MS, MAX_STEP_BYTES, MAX_TIMEOUT_MS } from "../wire/limits.ts";
import { encodeRequest } from "../wire/request.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { RUN_FUNCTION } from "../wire/service-definition.ts";
import { openChannel, type RunnerClientOptions } from "./channel.ts";
import { errorOfCall } from "./error-of-call.ts";

/** A connection to a runner, made on demand and again after it is lost. `run` rejects with a `RunnerGrpcError`. */
export interface RunnerClient extends FunctionRunner {
  /** Connects. @throws RunnerGrpcError `Unavailable` if that takes longer */
  ready(timeoutMs: number): Promise<void>;
  /** Ends running calls (`Closed`), then the connection. */
  close(): void;
}

/** Makes a client of a runner. It connects on the first call. @throws RunnerSetupError */
export function createRunnerClient(options: RunnerClientOptions): RunnerClient {
  return new GrpcRunnerClient(options);
}

/** The end of a gRPC call: `failure` is null if there is a response. */
interface Answer {
  readonly failure: ServiceError | null;
  readonly response: Uint8Array;
  readonly trailers: Metadata | undefined;
}

/** Makes an error that names the image and step of a call. */
type Fail = (code: string, message: string, cause?: unknown) => RunnerGrpcError;

class GrpcRunnerClient implements RunnerClient {
  readonly #endpoint: Endpoint;
  readonly #token: TokenFile | undefined;
  readonly #marginMs: number;
  readonly #channel: Client;
  readonly #calls = new Set<ClientUnaryCall>();
  #closed = false;

  constructor(options: RunnerClientOptions) {
    this.#endpoint = parseEndpoint(options.endpoint);
    this.#token = options.tokenFile === undefined ? undefined : openTokenFile(options.tokenFile);
    this.#marginMs = options.marginMs ?? DEFAULT_MARGIN_MS;
    if (!(this.#marginMs >= 0 && this.#marginMs <= MAX_TIMEOUT_MS)) {
      throw new RunnerSetupError("InvalidOption", `marginMs must be between 0 and ${MAX_TIMEOUT_MS}`);
    }
    this.#channel = openChannel(this.#endpoint, options);
  }

  async run(image: string, input: Uint8Array, options: RunOptions = {}): Promise<Uint8Array> {
    const { step, signal } = options;
    const fail: Fail = (code, message, cause) =>
      new RunnerGrpcError(code, message, { image, ...(step === undefined ? {} : { step }), cause });
    if (this.#closed) throw fail("Closed", `the client of the runner at ${this.#endpoint.text} is closed`);
    if (signal?.aborted === true) throw fail("Aborted", `the call of ${image} was aborted`, signal.reason);
    const request = encodeRequest(image, input, options);
    const metadata = requestMetadata(step, this.#token, fail);
    const deadline = Date.now() + (options.timeoutMs ?? DEFAULT_TIMEOUT_MS) + this.#marginMs;
    const { failure, response, trailers } = await this.#send(request, metadata, deadline, signal);
    const error = failure === null ? undefined : this.#errorOf(failure, image, deadline, options, fail);
    if (error?.stderr !== undefined) options.onStderr?.(error.stderr);
    if (trailers !== undefined) readReport(trailers, options);
    if (error !== undefined) throw error;
    return outputOf(response, fail);
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

  async #send(
    request: Uint8Array,
    metadata: Metadata,
    deadline: number,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Omit<Answer, "trailers">>();
    const { path, requestSerialize, responseDeserialize } = RUN_FUNCTION;
    const call = this.#channel.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      metadata,
      { deadline },
      (failure, response = new Uint8Array()) => {
        this.#calls.delete(call);
        signal?.removeEventListener("abort", abort);
        resolve({ failure, response });
      },
    );
    const abort = (): void => call.cancel();
    this.#calls.add(call);
    // Emitted in the same turn as the callback, so before the promise continues.
    let trailers: Metadata | undefined;
    call.on("status", (status) => {
      trailers = status.metadata;
    });
    signal?.addEventListener("abort", abort, { once: true });
    const answer = await promise;
    return { ...answer, trailers };
  }

  #errorOf(
    failure: ServiceError,
    image: string,
    deadline: number,
    { step, signal }: RunOptions,
    fail: Fail,
  ): RunnerGrpcError {
    if (signal?.aborted === true) return fail("Aborted", `the call of ${image} was aborted`, signal.reason);
    if (this.#closed) return fail("Closed", `the client was closed while ${image} ran`);
    const deadlinePassed = Date.now() >= deadline - DEADLINE_SLACK_MS;
    return errorOfCall(failure, { image, step, endpoint: this.#endpoint.text, deadlinePassed });
  }
}

function outputOf(response: Uint8Array, fail: Fail): Uint8Array {
  try {
    return RunFunctionResponse.decode(response).output;
  } catch (cause) {
    const message = "the runner's answer is not a RunFunctionResponse: check that a runner listens at this endpoint";
    throw fail("Internal", message, cause);
  }
}

function requestMetadata(step: string | undefined, token: TokenFile | undefined, fail: Fail): Metadata {
  const metadata = new Metadata();
  if (step !== undefined && step !== "") {
    metadata.set(STEP_KEY, Buffer.from(step, "utf8").subarray(0, MAX_STEP_BYTES));
  }
  if (token === undefined) return metadata;
  try {
    metadata.set("authorization", `Bearer ${token.current()}`);
  } catch (cause) {
    // The file was readable at the start, so it may be about to be replaced.
    throw fail("Unavailable", cause instanceof Error ? cause.message : "the token file is not usable", cause);
  }
  return metadata;
}
