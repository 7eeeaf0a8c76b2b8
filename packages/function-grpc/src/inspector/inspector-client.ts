import { FunctionConnection } from "../client/connection.ts";
import { dial, type FunctionTarget } from "../client/dial.ts";
import { FunctionCallError } from "../errors/function-call-error.ts";
import { EMIT_REQUEST, EMIT_RESPONSE, EmitRequestRequest, EmitResponseRequest } from "./messages.ts";

/** Crossplane's deadline of one message, with the connection to the socket. */
const DEADLINE_MS = 100;

/** The answers are empty. */
const MAX_ANSWER_BYTES = 1024;

/** Sends the calls of functions to a pipeline inspector on a Unix socket. Connects again after a lost connection. */
export class InspectorClient {
  readonly #target: FunctionTarget;
  readonly #deadlineMs: number;
  #connection: FunctionConnection | undefined;

  /** @param path the socket */
  constructor(path: string, deadlineMs: number = DEADLINE_MS) {
    this.#deadlineMs = deadlineMs;
    this.#target = { text: `unix:${path}`, address: { path }, isSecure: false };
  }

  /**
   * Connects, unless it is connected.
   *
   * @throws {FunctionCallError} `DeadlineExceeded`
   * @throws {Error} that of the socket
   */
  async connect(): Promise<FunctionConnection> {
    if (this.#connection?.open === true) return this.#connection;
    const deadline = AbortSignal.timeout(this.#deadlineMs);
    const socket = await dial(this.#target, deadline).catch((cause: Error) => {
      if (!deadline.aborted) throw cause;
      throw new FunctionCallError("DeadlineExceeded", cause.message, { cause });
    });
    return (this.#connection = new FunctionConnection(socket));
  }

  /** @throws {FunctionCallError | Error} */
  async emitRequest(message: EmitRequestRequest): Promise<void> {
    await this.#emit(EMIT_REQUEST, EmitRequestRequest.encode(message));
  }

  /** @throws {FunctionCallError | Error} */
  async emitResponse(message: EmitResponseRequest): Promise<void> {
    await this.#emit(EMIT_RESPONSE, EmitResponseRequest.encode(message));
  }

  /** Ends the connection and the message in progress. */
  close(): void {
    this.#connection?.close();
  }

  async #emit(method: string, message: Uint8Array): Promise<void> {
    const connection = await this.connect();
    await connection.call(method, message, { timeoutMs: this.#deadlineMs, maxResponseBytes: MAX_ANSWER_BYTES });
  }
}
