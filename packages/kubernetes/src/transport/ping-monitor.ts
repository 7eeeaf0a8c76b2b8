import type { ClientHttp2Session } from "node:http2";
import type { TLSSocket } from "node:tls";

/** Destroys a session whose peer is unreachable. TCP alone needs a quarter of an hour to detect that. */
export class PingMonitor {
  readonly #session: ClientHttp2Session;
  readonly #socket: TLSSocket;
  readonly #timeoutMs: number;
  readonly #interval: NodeJS.Timeout;
  #bytesRead: number;
  /** Set while a ping is unanswered. */
  #deadline: NodeJS.Timeout | undefined;

  /** Pings after `silentMs` without data, and waits `timeoutMs` for the answer. */
  constructor(session: ClientHttp2Session, socket: TLSSocket, silentMs: number, timeoutMs: number) {
    this.#session = session;
    this.#socket = socket;
    this.#timeoutMs = timeoutMs;
    this.#bytesRead = socket.bytesRead;
    this.#interval = setInterval(() => this.#check(), silentMs);
    this.#interval.unref();
  }

  stop(): void {
    clearInterval(this.#interval);
    clearTimeout(this.#deadline);
  }

  #check(): void {
    const { bytesRead } = this.#socket;
    if (bytesRead !== this.#bytesRead) {
      this.#bytesRead = bytesRead;
      return;
    }
    if (this.#deadline !== undefined || this.#session.destroyed) return;
    this.#deadline = setTimeout(() => {
      this.#session.destroy(new Error(`the server has not answered a ping for ${this.#timeoutMs / 1000} s`));
    }, this.#timeoutMs);
    this.#deadline.unref();
    const sent = this.#session.ping(() => {
      clearTimeout(this.#deadline);
      this.#deadline = undefined;
    });
    if (!sent) this.#session.destroy(new Error("the server does not answer pings"));
  }
}
