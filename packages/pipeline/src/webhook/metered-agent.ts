import { Agent } from "node:https";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { meterSocket, PeerBudget } from "@xfn/runner-contract/peer-limits";

/** An agent whose connections end once a server sends far more than its content, also between requests. */
export class MeteredAgent extends Agent {
  readonly #budgets = new WeakMap<Duplex, PeerBudget>();

  override createConnection(...args: Parameters<Agent["createConnection"]>): ReturnType<Agent["createConnection"]> {
    const socket = super.createConnection(...args);
    if (socket instanceof TLSSocket) meterSocket(socket, this.budgetOf(socket), "data");
    return socket;
  }

  /** The budget of a connection. */
  budgetOf(socket: Duplex): PeerBudget {
    const budget = this.#budgets.get(socket) ?? new PeerBudget("http1");
    this.#budgets.set(socket, budget);
    return budget;
  }
}
