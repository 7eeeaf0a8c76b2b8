import { experimental, Server, ServerCredentials, type ServerOptions } from "@grpc/grpc-js";
import { type CertificateFiles, CertificateWatcher } from "../setup/certificate-files.ts";
import { type Endpoint, parseEndpoint } from "../setup/endpoint.ts";
import { RunnerSetupError } from "../setup/setup-error.ts";
import { openTokenFile } from "../setup/token-file.ts";
import { MAX_MESSAGE_BYTES } from "../wire/limits.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { RUNNER_SERVICE } from "../wire/service-definition.ts";
import { Admission, type AdmissionCounts } from "./admission.ts";
import { type AdmittedCalls, gate } from "./call-interceptor.ts";
import { failureOf } from "./failure.ts";
import { listenersOf } from "./grpc-js-internals.ts";
import { type Authentication, authenticationOf } from "./listener-policy.ts";
import { listenOnPath, type SocketFile } from "./path-socket.ts";
import { type CallContext, type CallOutcome, type ServedRunOptions, serveCall } from "./run-call.ts";
import { type Health, loadHealth, loadReflection } from "./services.ts";

/** What to serve, where, and to whom. */
export interface RunnerServerOptions {
  /** Runs one function to its end. Errors with a `code` that the contract knows keep it on their way to the caller. */
  run: (image: string, input: Uint8Array, options: ServedRunOptions) => Promise<Uint8Array>;
  /** Where to listen: any spelling that `parseEndpoint` reads. */
  addresses: readonly string[];
  /** Tokens of callers on abstract and TCP sockets, one a line. Read again for each call. */
  tokenFile?: string;
  /** TLS on TCP sockets. With `caFile` it is mTLS: callers need a certificate of that CA, and no token. */
  tls?: CertificateFiles & { certFile: string; keyFile: string };
  /** Lets anybody in on abstract and TCP sockets. No function is then given the runner's network. */
  insecureNoAuth?: boolean;
  /** Takes tokens without TLS over TCP from other machines. For networks that encrypt by themselves. */
  insecurePlaintext?: boolean;
  /** Runs at a time. */
  maxConcurrent: number;
  /** Calls that may wait for a run to end; over it, `QueueFull` at once. */
  maxQueued: number;
  /** How long a caller may take to send its message, and to take its answer, in milliseconds. Default 60,000. */
  messageTimeoutMs?: number;
  /**
   * How long a connection may have no call, in milliseconds. Default 600,000: callers connect again when they need to, and nobody
   * holds a connection by silence.
   */
  idleTimeoutMs?: number;
  /** The health service of gRPC, and what it says at first. None by default. */
  health?: { serving: boolean };
  /** The reflection service of gRPC. */
  reflection?: boolean;
  /** How often certificate files are read again, in milliseconds. Default 10,000. */
  refreshMs?: number;
  /** Told what became of each call that was let in. */
  onCall?: (outcome: CallOutcome) => void;
  /** Told of each call that was turned away: no token, a full queue. */
  onRefused?: (error: RunnerGrpcError) => void;
  /** Told what an operator is to mend while the server goes on: certificate files that do not fit. Once, until they fit again. */
  onWarning?: (message: string) => void;
}

/** A server of the runner contract. */
export interface RunnerServer {
  /**
   * Listens on all addresses, or on none.
   *
   * @returns the addresses, with the port that was chosen where it was 0
   * @throws RunnerSetupError
   */
  start(): Promise<string[]>;
  /** What the health service says. */
  setServing(serving: boolean): void;
  /** Calls that run, and calls that wait for that. */
  counts(): AdmissionCounts;
  /**
   * Takes no more calls, waits for those that there are, ends what is left after `graceMs` (`Closed`), and goes away. Once `run`
   * has settled for all of them, or not within a few seconds of its signal, this resolves.
   */
  stop(graceMs: number): Promise<void>;
  /** Ends the grace of `stop`, be it that it is yet to be called. */
  endGrace(): void;
}

const DEFAULT_MESSAGE_TIMEOUT_MS = 60_000;

// Streams of one connection beyond those that can be let in: they are turned away with a hint, instead of waiting at the caller.
const SPARE_STREAMS = 128;

// Callers keep one connection each. A function in the runner's network could open as many as it likes, at some 50 KB each.
const MAX_CONNECTIONS = 1_000;

const DEFAULT_IDLE_TIMEOUT_MS = 10 * 60_000;

// What a runner needs to kill and reap a container, with a margin: the tests of design section 4 give it 2 s.
const SETTLE_MS = 5_000;

// What the last answers need to leave, and callers to hang up.
const LAST_ANSWERS_MS = 1_000;

interface Listener {
  readonly endpoint: Endpoint;
  readonly authentication: Authentication;
}

/** Makes a server of anything that can run functions. @throws RunnerSetupError */
export function createRunnerServer(options: RunnerServerOptions): RunnerServer {
  checkNumbers(options);
  const token = options.tokenFile === undefined ? undefined : openTokenFile(options.tokenFile);
  const tls =
    options.tls === undefined
      ? undefined
      : new CertificateWatcher(options.tls, options.refreshMs, (message) => options.onWarning?.(message));
  const listeners = options.addresses.map((text): Listener => {
    const endpoint = parseEndpoint(text);
    const authentication = authenticationOf(endpoint, {
      token: token !== undefined,
      tls: tls !== undefined,
      clientCa: options.tls?.caFile !== undefined,
      insecureNoAuth: options.insecureNoAuth === true,
      insecurePlaintext: options.insecurePlaintext === true,
    });
    return { endpoint, authentication };
  });
  if (listeners.length === 0)
    throw new RunnerSetupError("InvalidOption", "addresses is empty: a runner listens somewhere");
  const active = new Set<AbortController>();
  const graceEnded = Promise.withResolvers<void>();
  let idle: (() => void) | undefined;
  const admission: Admission = new Admission(options.maxConcurrent, options.maxQueued, () => checkIdle());
  const checkIdle = (): void => {
    if (admission.empty && active.size === 0) idle?.();
  };
  // A function in the runner's network reaches the open listener even if it was called for through another.
  const networkAllowed = listeners.every(({ authentication }) => authentication !== "none");
  const servers: Server[] = [];
  const files: SocketFile[] = [];
  let health: Health | undefined;

  const serverFor = ({ endpoint, authentication }: Listener): Server => {
    const admitted: AdmittedCalls = new WeakMap();
    const caller = { socket: endpoint.kind, authentication, address: endpoint.text };
    const context: CallContext = { run: options.run, caller, networkAllowed, active, onCall: options.onCall };
    const server = new Server({
      ...serverOptions(options),
      interceptors: [
        gate(
          {
            admission,
            token: authentication === "token" ? token : undefined,
            messageTimeoutMs: options.messageTimeoutMs ?? DEFAULT_MESSAGE_TIMEOUT_MS,
            onRefused: (error) => options.onRefused?.(error),
          },
          admitted,
        ),
      ],
    });
    server.addService(RUNNER_SERVICE, {
      runFunction: (call: Parameters<typeof serveCall>[0], answer: Parameters<typeof serveCall>[3]) => {
        const found = admitted.get(call.metadata);
        // Every call has passed the gate; one that has not is not served.
        if (found === undefined) return answer(failureOf(new RunnerGrpcError("Internal", "the call was not let in")));
        void serveCall(call, found, context, answer).finally(checkIdle);
      },
    });
    return server;
  };

  const close = async (): Promise<void> => {
    for (const server of servers.splice(0)) server.forceShutdown();
    await Promise.all(files.splice(0).map((file) => file.remove()));
  };

  return {
    async start() {
      const reflection = options.reflection === true ? await loadReflection() : undefined;
      if (options.health !== undefined) health = await loadHealth(options.health.serving);
      const bound: string[] = [];
      try {
        for (const listener of listeners) {
          const server = serverFor(listener);
          health?.addTo(server);
          reflection?.addTo(server);
          servers.push(server);
          const { endpoint } = listener;
          const secure = endpoint.kind === "tcp" && tls !== undefined;
          const listen = (target: string): Promise<number> =>
            bind(server, endpoint, target, secure ? tlsCredentials(tls, options) : undefined);
          if (endpoint.kind === "path") files.push(await listenOnPath(endpoint.path, listen));
          const port = endpoint.kind === "path" ? 0 : await listen(endpoint.target);
          bound.push(
            endpoint.kind === "tcp" && endpoint.port === 0
              ? endpoint.text.replace(/\d+$/, String(port))
              : endpoint.text,
          );
        }
        return bound;
      } catch (error) {
        await close();
        throw error;
      }
    },
    setServing: (serving) => health?.set(serving),
    counts: () => admission.counts,
    async stop(graceMs) {
      health?.set(false);
      admission.close(
        new RunnerGrpcError("Closed", "this runner is stopping; use another one, or try again", {
          retryAfterMs: 1_000,
        }),
      );
      // Says GOAWAY on every connection, and listens no more. A stream that watches the health would keep a connection for ever, so
      // that it is not this which says when all calls are over.
      const closed = Promise.all(servers.map((server) => new Promise<unknown>((done) => server.tryShutdown(done))));
      const over = (): Promise<void> => {
        const { promise, resolve } = Promise.withResolvers<void>();
        idle = resolve;
        checkIdle();
        return promise;
      };
      await within(graceMs, Promise.race([over(), graceEnded.promise]));
      const reason = new RunnerGrpcError("Closed", "this runner was stopped while the function ran");
      for (const aborter of active) aborter.abort(reason);
      await within(SETTLE_MS, over());
      await within(LAST_ANSWERS_MS, closed);
      await close();
    },
    endGrace: () => graceEnded.resolve(),
  };
}

async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, late]);
  clearTimeout(timer);
}

function bind(
  server: Server,
  endpoint: Endpoint,
  target: string,
  secure: ServerCredentials | undefined,
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(target, secure ?? ServerCredentials.createInsecure(), (cause, port) => {
      if (cause === null) {
        for (const listener of listenersOf(server)) listener.maxConnections = MAX_CONNECTIONS;
        return resolve(port);
      }
      const code = cause.message.includes("EADDRINUSE") ? "AddressInUse" : "ListenFailed";
      reject(new RunnerSetupError(code, `${endpoint.text} cannot be listened on: ${cause.message}`, cause));
    });
  });
}

function tlsCredentials(watcher: CertificateWatcher, { tls }: RunnerServerOptions): ServerCredentials {
  const mutual = tls?.caFile !== undefined;
  // The declaration names the parameters the other way round; the identity comes first.
  const create = experimental.createCertificateProviderServerCredentials;
  return create(watcher, mutual ? watcher : null, mutual);
}

function serverOptions({ maxConcurrent, maxQueued, idleTimeoutMs }: RunnerServerOptions): ServerOptions {
  return {
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_concurrent_streams": maxConcurrent + maxQueued + SPARE_STREAMS,
    "grpc.max_connection_idle_ms": idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
  };
}

function checkNumbers({
  maxConcurrent,
  maxQueued,
  messageTimeoutMs = 1,
  idleTimeoutMs = 1,
}: RunnerServerOptions): void {
  if (!Number.isSafeInteger(maxConcurrent) || maxConcurrent < 1) {
    throw new RunnerSetupError("InvalidOption", "maxConcurrent is to be an integer of at least 1");
  }
  if (!Number.isSafeInteger(maxQueued) || maxQueued < 0) {
    throw new RunnerSetupError("InvalidOption", "maxQueued is to be an integer of at least 0");
  }
  if (!(messageTimeoutMs > 0)) throw new RunnerSetupError("InvalidOption", "messageTimeoutMs is to be more than 0");
  if (!(idleTimeoutMs > 0)) throw new RunnerSetupError("InvalidOption", "idleTimeoutMs is to be more than 0");
}
