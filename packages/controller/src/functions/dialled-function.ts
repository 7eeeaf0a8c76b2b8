import {
  type CallOptions,
  dial,
  FunctionCallError,
  FunctionConnection,
  type FunctionTarget,
  type TargetCertificates,
  type UnaryCaller,
} from "@xfn/function-grpc";
import { type Lease, Shared, untilAborted } from "@xfn/lifetime";

/** A server of the same cluster accepts a connection within milliseconds. */
const DIAL_MS = 10_000;

/** Idle timeout of a connection. Closing it lets a Service choose another pod for the next call. */
const IDLE_MS = 30_000;

/** The way out of a problem with a certificate. */
export interface CertificateAdvice {
  readonly server: string;
  readonly client: string;
}

const FILES_ADVICE: CertificateAdvice = {
  server: "check its certificate, and its authority in --function-tls-ca",
  client: "set --function-tls-cert and --function-tls-key to one of its authority",
};

/** A connection, or the attempt to open it. */
interface SharedConnection {
  readonly connected: Promise<FunctionConnection>;
  /** Whether a call was sent over it. */
  isUsed: boolean;
}

/** All calls share one connection. */
const KEY = "";

/**
 * Calls a function at an address. Connects for the first call, reconnects after the connection was lost, and closes an
 * idle connection.
 */
export class DialledFunction implements UnaryCaller {
  readonly #target: FunctionTarget;
  readonly #certificates: () => Promise<TargetCertificates>;
  readonly #advice: CertificateAdvice;
  readonly #closed = new AbortController();
  readonly #connections = new Shared<typeof KEY, SharedConnection>(closeConnection, IDLE_MS);

  /** @param certificates called for each TLS connection, so that renewed files are used */
  constructor(
    target: FunctionTarget,
    certificates: () => Promise<TargetCertificates>,
    advice: CertificateAdvice = FILES_ADVICE,
  ) {
    this.#target = target;
    this.#certificates = certificates;
    this.#advice = advice;
  }

  async call(path: string, message: Uint8Array, options: CallOptions): Promise<Uint8Array> {
    const shared = this.#connection();
    const { isUsed } = shared.value;
    try {
      return await this.#callOver(shared, path, message, options);
    } catch (error) {
      // The server ended a used connection before it received the request, such as when its pod was replaced.
      if (!isUsed || !(error instanceof FunctionCallError) || !error.retryable) throw error;
      return await this.#callOver(this.#connection(), path, message, options);
    }
  }

  /** Closes the connection after its last call. */
  retire(): void {
    this.#connections.forget(KEY);
  }

  /** Closes the connection, and ends its calls. */
  close(): void {
    this.#closed.abort();
    this.#connections.close();
  }

  #connection(): Lease<SharedConnection> {
    return this.#connections.use(KEY, () => this.#open());
  }

  async #callOver(
    { value: shared, forget, release }: Lease<SharedConnection>,
    path: string,
    message: Uint8Array,
    options: CallOptions,
  ): Promise<Uint8Array> {
    try {
      const connection = await untilAborted(shared.connected, options.signal);
      shared.isUsed = true;
      return await connection.call(path, message, options);
    } catch (error) {
      // A server that disappeared without closing its connection never answers, so the next call reconnects.
      const isDoubtful = error instanceof FunctionCallError && DOUBTFUL.has(error.code);
      if (isDoubtful) forget();
      throw refusesCertificate(error) ? this.#refused(error) : error;
    } finally {
      release();
    }
  }

  #open(): SharedConnection {
    const shared: SharedConnection = { connected: this.#dial(), isUsed: false };
    // Each call reports the failure.
    shared.connected.catch(() => undefined);
    return shared;
  }

  async #dial(): Promise<FunctionConnection> {
    const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(DIAL_MS)]);
    try {
      const certificates = this.#target.isSecure ? await this.#certificates() : {};
      return new FunctionConnection(await dial(this.#target, signal, certificates));
    } catch (cause) {
      const why = cause instanceof Error ? cause.message || cause.name : String(cause);
      const check = isTlsError(cause) ? this.#advice.server : "check that the function listens there";
      const message = `cannot connect to ${this.#target.text}: ${why}; ${check}`;
      throw new FunctionCallError("ConnectionLost", message, { cause, undelivered: true });
    }
  }

  #refused(cause: Error): FunctionCallError {
    const message =
      `the function at ${this.#target.text} does not accept the client certificate (${cause.message}); ` +
      this.#advice.client;
    return new FunctionCallError("ConnectionLost", message, { cause });
  }
}

/**
 * Whether the server ended a call with a TLS alert about the client's certificate. With TLS 1.3, the alert follows the
 * handshake.
 */
function refusesCertificate(error: unknown): error is Error {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ("code" in cause && /^ERR_SSL_.*ALERT.*(CERTIFICATE|UNKNOWN_CA|HANDSHAKE_FAILURE)/.test(String(cause.code)))
      return true;
  return false;
}

/** Whether OpenSSL or Node refused the server's certificate, or the server does not use TLS. */
function isTlsError(error: unknown): boolean {
  return error instanceof Error && "code" in error && /CERT|SSL|TLS/.test(String(error.code));
}

const DOUBTFUL: ReadonlySet<string> = new Set(["ConnectionLost", "DeadlineExceeded"]);

function closeConnection({ connected }: SharedConnection): void {
  connected.then(
    (connection) => connection.close(),
    () => undefined,
  );
}
