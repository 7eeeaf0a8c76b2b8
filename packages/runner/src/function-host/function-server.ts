import type { Socket } from "node:net";
import { RunnerError } from "@xfn/runner-contract";
import type { SharedGroup } from "../cgroup/shared-group.ts";
import type { Sandbox, ServerEnd, Serving } from "../sandbox/sandbox.ts";
import { causeLine } from "./cause-line.ts";

/** The port of all functions that are gRPC servers. */
const FUNCTION_PORT = 9443;

/** Codes for the end of a process. Other codes concern its container. */
const EXITS: ReadonlySet<string> = new Set(["NonZeroExit", "Killed", "OutOfMemory", "TooManyProcesses", "DiskFull"]);

/** A function's server in a sandbox, from its start to its end. */
export class FunctionServer {
  readonly sandbox: Sandbox;
  /** Settles when its container has ended. Never rejects. */
  readonly ended: Promise<ServerEnd>;
  readonly #serving: Serving;
  readonly #startTimeoutMs: number;
  /** The connection that proved that the server listens, until a caller takes it. */
  #first: Socket | undefined;
  #listened = false;
  #over = false;

  /** Starts the server in a prepared sandbox. @param group the cgroup that it shares with other servers */
  constructor(sandbox: Sandbox, startTimeoutMs: number, group?: SharedGroup) {
    this.sandbox = sandbox;
    this.#startTimeoutMs = startTimeoutMs;
    this.#serving = sandbox.serve(group);
    this.ended = this.#serving.end;
    void this.#follow();
  }

  /** Resolves when the server accepts connections. @throws RunnerError */
  async listening(): Promise<void> {
    const first = await this.#open();
    this.#listened = true;
    this.#first = first;
    first.unref();
  }

  /** Opens a connection, which the caller must close. @throws RunnerError */
  async connect(signal?: AbortSignal): Promise<Socket> {
    throwIfAborted(signal);
    const first = this.#first;
    this.#first = undefined;
    const usable = first !== undefined && !first.destroyed && !first.readableEnded;
    if (!usable) first?.destroy();
    const socket = usable ? first : await this.#open();
    if (signal?.aborted === true) socket.destroy();
    throwIfAborted(signal);
    socket.ref();
    return socket;
  }

  /** The number of bytes that the server has written. */
  written(): number {
    return this.#serving.output.size;
  }

  /** The end of the server's output after its first `since` bytes. */
  stderr(since = 0): string {
    return this.#serving.output.text(since);
  }

  end(): void {
    this.#first?.destroy();
    if (!this.#over) this.sandbox.kill();
  }

  async #follow(): Promise<void> {
    await this.ended;
    this.#over = true;
    this.#first?.destroy();
  }

  async #open(): Promise<Socket> {
    const connection = await this.sandbox.connect(FUNCTION_PORT, this.#startTimeoutMs);
    // Without TCP_NODELAY a frame waits for the acknowledgement of the previous one: milliseconds in each call.
    if ("socket" in connection) return connection.socket.setNoDelay().on("error", ignore);
    switch (connection.reason) {
      case "ended":
        throw this.#failureOf(await this.ended);
      case "notListening": {
        const message = `it does not listen on port ${FUNCTION_PORT}: nothing accepted a connection within ${this.#startTimeoutMs / 1000} s; functions that serve gRPC listen there when started with --insecure`;
        throw new RunnerError("Timeout", message, { phase: "start", stderr: this.stderr() });
      }
      case "failed": {
        const message = `its port ${FUNCTION_PORT} cannot be reached: ${connection.message}`;
        throw new RunnerError("StartFailed", message, { phase: "start", stderr: this.stderr() });
      }
    }
  }

  #failureOf(end: ServerEnd): RunnerError {
    if (end.failure !== undefined && (this.#listened || !EXITS.has(end.failure.code))) return end.failure;
    const { code, message, exitCode } = end.failure ?? {
      code: "ServerExited" as const,
      message: `it exited with code ${end.exitCode}`,
      exitCode: end.exitCode,
    };
    // Its output until now is of no call, so callers without the stderr may see it too.
    const cause = this.#listened ? undefined : causeLine(this.stderr());
    const when = this.#listened ? "" : ` before it listened on port ${FUNCTION_PORT}`;
    return new RunnerError(code, `${message}${when}${cause === undefined ? "" : `: ${cause}`}`, {
      phase: this.#listened ? "run" : "start",
      stderr: this.stderr(),
      exitCode,
      // After a restart it would most probably exit again.
      retryable: this.#listened ? undefined : (end.failure?.retryable ?? false),
    });
  }
}

/** @throws RunnerError `Aborted` */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new RunnerError("Aborted", "the call was cancelled", { phase: "start" });
}

function ignore(): void {
  // The server may end while no code listens to the socket. The error would then end this program. Users see its end
  // too.
}
