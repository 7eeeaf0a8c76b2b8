import type { Http2Server } from "node:http2";
import type { Socket } from "node:net";
import type { CallInterceptorOptions } from "./call-interceptor.ts";
import type { MessageMemory } from "./message-memory.ts";
import { PlainCall, type ServePlainCall } from "./plain-call.ts";
import { type SilentSockets, splitProtocols } from "./split-protocols.ts";

/** What plain calls require, and who serves them. */
export interface PlainCallsOptions extends CallInterceptorOptions {
  /** How long a connection may stay silent, in milliseconds. */
  readonly silenceMs: number;
  readonly memory: MessageMemory;
  /** The methods that are served. */
  readonly paths: ReadonlySet<string>;
  readonly serve: ServePlainCall;
}

/** Serves plain calls on connections that a listener of gRPC has accepted. */
export class PlainCalls {
  readonly #options: PlainCallsOptions;
  readonly #calls = new Set<PlainCall>();
  readonly #silent: SilentSockets[] = [];

  constructor(options: PlainCallsOptions) {
    this.#options = options;
  }

  /** Takes the connections of a listener of gRPC that begin a plain call. */
  listen(server: Http2Server): void {
    this.#silent.push(splitProtocols(server, (...begun) => this.#accept(...begun), this.#options.silenceMs));
  }

  /** Closes connections that have not sent a byte. */
  closeSilent(): void {
    for (const silent of this.#silent) silent.close();
  }

  /** Closes all connections. */
  close(): void {
    this.closeSilent();
    for (const call of this.#calls) call.close();
  }

  #accept(socket: Socket, first: Buffer): void {
    const call = new PlainCall(socket, first, this.#options, () => this.#calls.delete(call));
    this.#calls.add(call);
  }
}
