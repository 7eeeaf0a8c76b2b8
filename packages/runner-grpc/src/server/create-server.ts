import { type handleUnaryCall, Server } from "@grpc/grpc-js";
import { openTokenFile, type TokenFile } from "../setup/token-file.ts";
import { FUNCTION_METHODS, RUN_PATHS } from "../wire/function-service.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { RUN_FUNCTION, RUNNER_SERVICE } from "../wire/service-definition.ts";
import { Admission, type AdmissionCounts } from "./admission.ts";
import { type AdmittedCalls, type CallInterceptorOptions, callInterceptor } from "./call-interceptor.ts";
import { Drain, within } from "./drain.ts";
import { failureOf } from "./failure.ts";
import { type Listener, Listeners } from "./listeners.ts";
import { MessageMemory } from "./message-memory.ts";
import {
  admissionLimits,
  checkNumbers,
  DEFAULT_MESSAGE_TIMEOUT_MS,
  idleTimeoutOf,
  type RunnerServerOptions,
  serverOptions,
} from "./options.ts";
import type { CallContext } from "./perform-call.ts";
import type { ServePlainCall } from "./plain-call.ts";
import { PlainCalls } from "./plain-calls.ts";
import { serveCall } from "./run-call.ts";
import { type Health, loadHealth, loadReflection } from "./services.ts";

/** A server of the runner contract. */
export interface RunnerServer {
  /**
   * Listens on all addresses, or on none.
   *
   * @returns the addresses, with the chosen port for port 0
   * @throws RunnerSetupError
   */
  start(): Promise<string[]>;
  /** Sets the state of the health service. */
  setServing(serving: boolean): void;
  /** Running and waiting calls. */
  counts(): AdmissionCounts;
  /**
   * Rejects new calls, waits for running calls, and ends those still running after `graceMs` (`Closed`). Resolves once
   * `run` has settled for all of them, or a few seconds after its signal was aborted.
   */
  stop(graceMs: number): Promise<void>;
  /** Ends the grace period of `stop`, even if `stop` is called later. */
  endGrace(): void;
}

// Time to send the last answers, and for callers to disconnect.
const LAST_ANSWERS_MS = 1_000;

const OPEN = "it listens without authentication, so a function in its network could call it";

/** Creates a server for any implementation of `run`. @throws RunnerSetupError */
export function createRunnerServer(options: RunnerServerOptions): RunnerServer {
  return new GrpcRunnerServer(options);
}

type RunFunction = handleUnaryCall<Uint8Array, Uint8Array>;

class GrpcRunnerServer implements RunnerServer {
  readonly #options: RunnerServerOptions;
  readonly #token: TokenFile | undefined;
  readonly #listeners: Listeners;
  readonly #admission: Admission;
  readonly #drain: Drain;
  readonly #memory = new MessageMemory();
  readonly #servers: Server[] = [];
  readonly #plainCalls: PlainCalls[] = [];
  #health: Health | undefined;

  constructor(options: RunnerServerOptions) {
    checkNumbers(options);
    this.#options = options;
    this.#token = options.tokenFile === undefined ? undefined : openTokenFile(options.tokenFile);
    this.#listeners = new Listeners(options);
    this.#admission = new Admission(admissionLimits(options), () => this.#drain.check());
    this.#drain = new Drain(this.#admission);
  }

  async start(): Promise<string[]> {
    const { health, reflection } = this.#options;
    const reflectionService = reflection === true ? await loadReflection() : undefined;
    if (health !== undefined) this.#health = await loadHealth(health.serving);
    const bound: string[] = [];
    try {
      for (const listener of this.#listeners.all) {
        const context = this.#contextOf(listener);
        const checks = this.#checksOf(listener);
        const server = this.#serverFor(context, checks);
        this.#health?.addTo(server);
        reflectionService?.addTo(server);
        this.#servers.push(server);
        const plainCalls = this.#plainCallsFor(context, checks);
        this.#plainCalls.push(plainCalls);
        bound.push(await this.#listeners.bind(server, listener, (http2) => plainCalls.listen(http2)));
      }
      return bound;
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  setServing(serving: boolean): void {
    this.#health?.set(serving);
  }

  counts(): AdmissionCounts {
    return this.#admission.counts;
  }

  async stop(graceMs: number): Promise<void> {
    this.#health?.set(false);
    this.#drain.refuse();
    for (const plainCalls of this.#plainCalls) plainCalls.closeIdle();
    // Sends GOAWAY on every connection and stops listening. It may never settle, because a stream that watches the
    // health keeps its connection open: the end of all calls is observed through #drain.
    const closed = Promise.all(this.#servers.map((server) => new Promise<unknown>((done) => server.tryShutdown(done))));
    await this.#drain.end(graceMs);
    await within(LAST_ANSWERS_MS, closed);
    await this.#close();
  }

  endGrace(): void {
    this.#drain.endGrace();
  }

  #checksOf({ authentication }: Listener): CallInterceptorOptions {
    return {
      admission: this.#admission,
      token: authentication === "token" ? this.#token : undefined,
      messageTimeoutMs: this.#options.messageTimeoutMs ?? DEFAULT_MESSAGE_TIMEOUT_MS,
      onRefused: (error) => this.#options.onRefused?.(error),
    };
  }

  #serverFor(context: CallContext, checks: CallInterceptorOptions): Server {
    const admitted: AdmittedCalls = new WeakMap();
    const interceptor = callInterceptor(checks, admitted);
    const server = new Server({ ...serverOptions(this.#options), interceptors: [interceptor] });
    const runFunction: RunFunction = (call, callback) => {
      const found = admitted.get(call.metadata);
      // The interceptor admits every call; a call that bypassed it must not run.
      if (found === undefined) return callback(failureOf(new RunnerGrpcError("Internal", "the call was not admitted")));
      const { metadata, request: message } = call;
      const received = { path: call.getPath(), metadata, message, deadline: Number(call.getDeadline()) };
      void serveCall(received, found, context, (answer) => {
        if ("code" in answer) callback(answer);
        else callback(null, Buffer.concat(answer.message), answer.trailers);
      }).finally(() => this.#drain.check());
    };
    server.addService(RUNNER_SERVICE, { runFunction });
    if (context.forward === undefined) return server;
    for (const method of FUNCTION_METHODS) server.addService({ runFunction: method }, { runFunction });
    return server;
  }

  #plainCallsFor(context: CallContext, checks: CallInterceptorOptions): PlainCalls {
    const paths = context.forward === undefined ? new Set([RUN_FUNCTION.path]) : RUN_PATHS;
    const serve: ServePlainCall = (call, admitted, answer) =>
      serveCall(call, admitted, context, answer).finally(() => this.#drain.check());
    return new PlainCalls({ ...checks, paths, memory: this.#memory, serve }, idleTimeoutOf(this.#options));
  }

  #contextOf({ endpoint, authentication }: Listener): CallContext {
    return {
      run: this.#options.run,
      forward: this.#options.forward,
      memory: this.#memory,
      caller: { socket: endpoint.kind, authentication, address: endpoint.text },
      // A function in the runner's network reaches an open listener, no matter which listener its call came through.
      networkRefusal: this.#listeners.all.some((one) => one.authentication === "none") ? OPEN : undefined,
      active: this.#drain.active,
      onCall: this.#options.onCall,
    };
  }

  async #close(): Promise<void> {
    for (const server of this.#servers.splice(0)) server.forceShutdown();
    for (const plainCalls of this.#plainCalls.splice(0)) plainCalls.close();
    await this.#listeners.removeFiles();
  }
}
