import type { OnReadOpts, Socket } from "node:net";
import { PeerBudget, PeerLimitError } from "@xfn/runner-contract/peer-limits";
import { ExactReader } from "../wire/exact-reader.ts";

export type Connect = (onread: OnReadOpts) => Socket;

/** A connection for plain calls, one after another. */
export class PlainConnection {
  readonly reader: ExactReader = new ExactReader(() => this.#lost("the runner sent more than its answer"));
  readonly #socket: Socket;
  readonly #budget = new PeerBudget("http2");
  #endCall: () => void;
  #onLost: (why: string) => void;

  constructor(connect: Connect, onLost: (why: string) => void) {
    this.#onLost = onLost;
    this.#endCall = this.#budget.begin(0);
    const { buffer, callback } = this.reader.onread;
    this.#socket = connect({
      buffer,
      callback: (bytes, memory) => {
        // The lengths in an answer limit its bytes, but reading single bytes takes long.
        if (this.#budget.spendRead(bytes, 0)) return callback(bytes, memory);
        this.#lost(new PeerLimitError().message);
        return false;
      },
    });
    this.#socket.on("error", (cause) => this.#lost(cause.message));
    this.#socket.on("close", () => this.#lost("the connection was closed"));
  }

  /** Gives the connection to a call. */
  use(onLost: (why: string) => void): void {
    this.#onLost = onLost;
    this.#endCall = this.#budget.begin(0);
    this.#socket.ref();
  }

  /** Takes the connection from its call. Without a call, it does not keep the process running. */
  release(onLost: (why: string) => void): void {
    this.#onLost = onLost;
    this.#endCall();
    this.#socket.unref();
  }

  write(pieces: readonly Uint8Array[]): void {
    this.#socket.cork();
    for (const piece of pieces) this.#socket.write(piece);
    this.#socket.uncork();
  }

  close(): void {
    this.#socket.destroy();
  }

  #lost(why: string): void {
    const onLost = this.#onLost;
    // An error is followed by the end.
    this.#onLost = () => undefined;
    this.close();
    onLost(why);
  }
}
