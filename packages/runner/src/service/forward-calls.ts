import { FunctionCallError, FunctionConnection } from "@xfn/function-grpc";
import { type Lease, Shared, untilAborted } from "@xfn/lifetime";
import type { RunOptions, ServedFunction } from "@xfn/runner-contract";
import { errorOfStatus, RunnerGrpcError } from "@xfn/runner-grpc";
import type { Runner } from "../runner-options.ts";
import { StartDeadline } from "../sandbox/start-deadline.ts";

/**
 * The time that an unused connection stays open, in milliseconds. It only saves the next call some milliseconds: the
 * idle time of the server begins when the connection is closed.
 */
const KEEP_MS = 5_000;

interface Connected {
  readonly served: ServedFunction;
  readonly connection: FunctionConnection;
}

interface Connection {
  readonly connected: Promise<Connected>;
  /** Aborts the start once no call waits for it. */
  readonly starting: AbortController;
}

/** The options of a forwarded call. */
type ForwardOptions = RunOptions & { timeoutMs: number };

/** The operator's settings for forwarded calls. */
export interface ForwardSettings {
  /** The longest time to pull an image and start its server, in milliseconds. */
  readonly startTimeoutMs: number;
  /** Whether each call gets its own server. */
  readonly fresh: boolean;
  /** The largest number of servers of the runner. */
  readonly maxServers: number;
}

/**
 * Passes gRPC requests to the servers of functions without decoding them. Calls of one function share a server and a
 * connection, unless the settings disable that.
 */
export class ForwardedCalls {
  readonly #runner: Pick<Runner, "serve" | "maxOutputBytes">;
  readonly #settings: ForwardSettings;
  readonly #connections = new Shared<string, Connection>((connection) => void close(connection), KEEP_MS);

  constructor(runner: Pick<Runner, "serve" | "maxOutputBytes">, settings: ForwardSettings) {
    this.#runner = runner;
    this.#settings = settings;
  }

  /** Calls a method of a function. @throws RunnerGrpcError, or an error of `serve` */
  async call(image: string, path: string, request: Uint8Array, asked: ForwardOptions): Promise<Uint8Array> {
    let stderr = "";
    const onStderr = (tail: string): void => {
      stderr = tail;
      asked.onStderr?.(tail);
    };
    const options = { ...asked, onStderr };
    try {
      return await this.#once(image, path, request, options).catch((error: unknown) => {
        // The server ended before it received the request, so another server may process it.
        if (error instanceof FunctionCallError && error.retryable) return this.#once(image, path, request, options);
        throw error;
      });
    } catch (error) {
      throw error instanceof FunctionCallError ? asRunnerError(error, image, stderr) : error;
    }
  }

  close(): void {
    this.#connections.close();
  }

  async #once(image: string, path: string, request: Uint8Array, options: ForwardOptions): Promise<Uint8Array> {
    const { network, memoryBytes, cpus, pids, pullPolicy, auth, timeoutMs, signal } = options;
    // A call with credentials must not share the failure of a call without them.
    const key = JSON.stringify([image, network, memoryBytes, cpus, pids, pullPolicy, auth]);
    const { value, forget, release } = this.#connect(key, image, options);
    const deadline = new StartDeadline(this.#settings.startTimeoutMs, signal);
    let reportStderr = async (): Promise<void> => undefined;
    try {
      const { connection, served } = await deadline.within("pull", value.connected);
      deadline.met();
      // The server's earlier output belongs to other calls.
      const before = served.written();
      reportStderr = async () => {
        const text = await served.stderr(before);
        if (text !== "") options.onStderr?.(text);
      };
      // Other calls on a closing connection can still receive their answers.
      if (!connection.open) forget();
      const maxResponseBytes = this.#runner.maxOutputBytes;
      const began = performance.now();
      const response = await connection.call(path, request, { timeoutMs, signal, maxResponseBytes });
      options.onPhase?.("run", performance.now() - began);
      return response;
    } catch (error) {
      throw error instanceof FunctionCallError ? await reasonOf(error, await value.connected, signal) : error;
    } finally {
      await reportStderr();
      deadline.met();
      release();
    }
  }

  #connect(key: string, image: string, options: ForwardOptions): Lease<Connection> {
    // With the pull policy Always, each call asks the registry.
    const isAlone = this.#settings.fresh || options.pullPolicy === "Always";
    const open = (): Connection => {
      const starting = new AbortController();
      return { connected: this.#open(image, options, starting.signal), starting };
    };
    const lease = this.#connections.use(key, open, isAlone);
    if (lease.isFirst) lease.value.connected.catch(lease.forget);
    return lease;
  }

  async #open(image: string, options: ForwardOptions, starting: AbortSignal): Promise<Connected> {
    await this.#makeRoom();
    const { timeoutMs: _, signal: _signal, onStderr: _onStderr, onPhase, ...more } = options;
    const { fresh } = this.#settings;
    const served = await this.#runner.serve(image, { ...more, fresh, signal: starting, onPhase });
    try {
      return { served, connection: new FunctionConnection(await served.connect(starting)) };
    } catch (error) {
      served.release();
      throw error;
    }
  }

  // An unused connection prevents another server from replacing its server.
  async #makeRoom(): Promise<void> {
    if (this.#connections.size < this.#settings.maxServers) return;
    const unused = this.#connections.takeIdle();
    if (unused !== undefined) await close(unused);
  }
}

/** Never rejects: the calls that waited for the connection get its error. */
async function close({ connected, starting }: Connection): Promise<void> {
  starting.abort();
  try {
    const { served, connection } = await connected;
    connection.close();
    served.release();
  } catch {
    // There is no connection to close.
  }
}

async function connects(served: ServedFunction): Promise<void> {
  const socket = await served.connect();
  socket.destroy();
}

/** The server's own end, if it caused a call to fail. */
async function reasonOf(
  error: FunctionCallError,
  { served }: Connected,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  if (error.code !== "ConnectionLost" || error.retryable) return error;
  try {
    await untilAborted(connects(served), signal);
    return error;
  } catch (reason) {
    return reason;
  }
}

/** Converts the error of a function's call to an error of the runner contract. */
function asRunnerError(error: FunctionCallError, image: string, stderr: string): RunnerGrpcError {
  const message = `function ${image}: ${error.message}`;
  if (error.status !== undefined) return errorOfStatus(error.status, message, image, stderr);
  return new RunnerGrpcError(CODES[error.code], message, { phase: "run", image, stderr, cause: error });
}

const CODES = {
  Cancelled: "Aborted",
  DeadlineExceeded: "Timeout",
  ConnectionLost: "Killed",
  NotGrpc: "ImageInvalid",
  Malformed: "ImageInvalid",
  ExcessiveLoad: "ImageInvalid",
  TooLarge: "OutputTooLarge",
  // This error always has a status.
  Status: "Internal",
} as const;
