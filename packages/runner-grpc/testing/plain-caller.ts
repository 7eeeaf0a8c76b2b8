import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { SERVICE_NAME } from "../src/index.ts";
import type { Serving } from "./serving.ts";

/** The head of a plain call. Tests choose its JSON and its length. */
export function plainHead(json: unknown, length?: number): Buffer {
  const text = Buffer.from(typeof json === "string" ? json : JSON.stringify(json));
  const head = Buffer.concat([Buffer.from("xfncall\n"), Buffer.alloc(4), text]);
  head.writeUInt32BE(length ?? text.length, 8);
  return head;
}

/** A caller of plain calls that controls every byte. */
export class PlainCaller {
  readonly socket: Socket;
  /** Settles at the end of the connection. */
  readonly closed: Promise<void>;
  #received: Buffer = Buffer.alloc(0);
  #over = false;
  #onChange: () => void = () => undefined;

  constructor(serving: Serving, head?: object, socketPath: string = serving.path("runner.sock")) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.socket = connect(socketPath);
    this.socket.on("error", () => undefined);
    this.socket.on("data", (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#onChange();
    });
    this.socket.on("close", () => {
      this.#over = true;
      this.#onChange();
      resolve();
    });
    onTestFinished(() => void this.socket.destroy());
    if (head === undefined) return;
    const defaults = { path: `/${SERVICE_NAME}/RunFunction`, timeoutMs: 60_000, length: 0, metadata: {} };
    this.socket.write(plainHead({ ...defaults, ...head }));
  }

  /** The next head from the server; undefined if the connection ends first. */
  async head(): Promise<Readonly<Record<string, unknown>> | undefined> {
    const prefix = await this.bytes(12);
    if (prefix === undefined) return undefined;
    const text = await this.bytes(prefix.readUInt32BE(8));
    return text === undefined ? undefined : (JSON.parse(text.toString()) as Record<string, unknown>);
  }

  /** The next bytes from the server; undefined if the connection ends first. */
  async bytes(count: number): Promise<Buffer | undefined> {
    while (this.#received.length < count) {
      if (this.#over) return undefined;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onChange = resolve;
      await promise;
    }
    const bytes = this.#received.subarray(0, count);
    this.#received = this.#received.subarray(count);
    return bytes;
  }

  /** Sends a message, if the server admits the call. @returns the gRPC status; -1 if there is none */
  async send(message: Uint8Array): Promise<number> {
    const head = await this.head();
    if (head?.["go"] !== true) return statusIn(head);
    this.socket.write(message);
    return statusIn(await this.head());
  }
}

export function statusIn(head: Readonly<Record<string, unknown>> | undefined): number {
  const status = head?.["status"];
  return typeof status === "number" ? status : -1;
}

export async function connected(caller: PlainCaller): Promise<void> {
  if (caller.socket.connecting) await once(caller.socket, "connect");
}
