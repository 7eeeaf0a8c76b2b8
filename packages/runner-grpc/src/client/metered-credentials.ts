import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ChannelCredentials } from "@grpc/grpc-js";
import { MeteredStream, type PeerBudget } from "@xfn/runner-contract/peer-limits";

type Connector = ReturnType<ChannelCredentials["_createSecureConnector"]>;

/**
 * Credentials of a channel whose connections end once the server exceeds the budget. grpc-js makes connections by its
 * credentials, and has no other place for a stream of one's own.
 */
export class MeteredCredentials extends ChannelCredentials {
  readonly #credentials: ChannelCredentials;
  readonly #budget: PeerBudget;

  constructor(credentials: ChannelCredentials, budget: PeerBudget) {
    super();
    this.#credentials = credentials;
    this.#budget = budget;
  }

  override _isSecure(): boolean {
    return this.#credentials._isSecure();
  }

  /** Never equal to others: channels with equal ones share connections, and each channel has its own budget. */
  override _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  override _createSecureConnector(...args: Parameters<ChannelCredentials["_createSecureConnector"]>): Connector {
    const connector = this.#credentials._createSecureConnector(...args);
    return {
      connect: async (tcp) => {
        const { socket, secure } = await connector.connect(tcp);
        this.#budget.renew();
        const metered = new MeteredStream(socket, this.#budget);
        // grpc-js keeps the process running while there are calls, but cannot reach this socket.
        metered.unref();
        // grpc-js hands it to node:http2, which takes any Duplex.
        return { socket: metered as Duplex as Socket, secure };
      },
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy: () => connector.destroy(),
    };
  }
}
