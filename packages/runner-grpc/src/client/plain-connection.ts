import type { OnReadOpts, Socket } from "node:net";
import { PeerBudget, PeerLimitError } from "@xfn/runner-contract/peer-limits";
import { ExactReader } from "../wire/exact-reader.ts";

export type Connect = (onread: OnReadOpts) => Socket;

/** The connection of a plain call. */
export class PlainConnection {
  readonly reader: ExactReader = new ExactReader(() => this.#lost("the runner sent more than its answer"));
  readonly #socket: Socket;
  #onLost: (why: string) => void;

  constructor(connect: Connect, onLost: (why: string) => void) {
    this.#onLost = onLost;
    const budget = new PeerBudget("http2");
    budget.begin(0);
    const { buffer, callback } = this.reader.onread;
    this.#socket = connect({
      buffer,
      callback: (bytes, memory) => {
        // The lengths in an answer limit its bytes, but reading single bytes takes long.
        if (budget.spendRead(bytes, 0)) return callback(bytes, memory);
        this.#lost(new PeerLimitError().message);
        return false;
      },
    });
    this.#socket.on("error", (cause) => this.#lost(cause.message));
    this.#socket.on("close", () => this.#lost("the connection was closed"));
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
