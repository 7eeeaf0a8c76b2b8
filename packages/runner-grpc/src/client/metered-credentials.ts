import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { CallCredentials, ChannelCredentials, type Metadata } from "@grpc/grpc-js";
import { MeteredStream, PeerBudget } from "@xfn/runner-contract/peer-limits";

type Connector = ReturnType<ChannelCredentials["_createSecureConnector"]>;
type MetadataOptions = Parameters<CallCredentials["generateMetadata"]>[0];

/**
 * Credentials of a channel that give each connection a budget. A connection ends once its server exceeds the budget.
 * grpc-js creates connections through their credentials, and does not accept a caller's stream in another way.
 */
export class MeteredCredentials extends ChannelCredentials {
  readonly #credentials: ChannelCredentials;

  constructor(credentials: ChannelCredentials) {
    super();
    this.#credentials = credentials;
  }

  override _isSecure(): boolean {
    return this.#credentials._isSecure();
  }

  /** Never equal to others: channels with equal credentials share connections, which end with the first excess. */
  override _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  override _createSecureConnector(...args: Parameters<ChannelCredentials["_createSecureConnector"]>): Connector {
    const connector = this.#credentials._createSecureConnector(...args);
    // A connector makes the connections to one address, one after another.
    let budget = new PeerBudget("http2");
    return {
      connect: async (tcp) => {
        const { socket, secure } = await connector.connect(tcp);
        budget = new PeerBudget("http2");
        const metered = new MeteredStream(socket, budget);
        // grpc-js keeps the process running while there are calls, but cannot reach this socket.
        metered.unref();
        // grpc-js passes it to node:http2, which accepts any Duplex.
        return { socket: metered as Duplex as Socket, secure };
      },
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: () => new ConnectionCredentials(connector.getCallCredentials(), budget),
      destroy: () => connector.destroy(),
    };
  }
}

/** The credentials that a connection adds to its calls. */
class ConnectionCredentials extends CallCredentials {
  readonly credentials: CallCredentials;
  readonly budget: PeerBudget;

  constructor(credentials: CallCredentials, budget: PeerBudget) {
    super();
    this.credentials = credentials;
    this.budget = budget;
  }

  override generateMetadata(options: MetadataOptions): Promise<Metadata> {
    return this.credentials.generateMetadata(options);
  }

  override compose(other: CallCredentials): CallCredentials {
    return this.credentials.compose(other);
  }

  override _equals(other: CallCredentials): boolean {
    return this === other;
  }
}

/**
 * The credentials of one call, which find the budget of the connection that carries it. grpc-js composes them with
 * those of a connection once it has picked the connection, and reports the pick in no other way.
 */
export class CallBudget extends CallCredentials {
  readonly #maxContent: number;
  #budget: PeerBudget | undefined;
  #end: () => void = () => undefined;

  /** @param maxContent largest answer, in bytes */
  constructor(maxContent: number) {
    super();
    this.#maxContent = maxContent;
  }

  /** Whether the call's connection ended because its server exceeded the budget. */
  get exceeded(): boolean {
    return this.#budget?.exceeded === true;
  }

  /** Records the end of the call. */
  end(): void {
    this.#end();
  }

  override generateMetadata(): Promise<Metadata> {
    return Promise.reject(new Error("a call has no metadata before its connection"));
  }

  override compose(other: CallCredentials): CallCredentials {
    if (!(other instanceof ConnectionCredentials)) return other;
    // grpc-js picks again if the connection is lost before the call begins.
    this.#end();
    this.#budget = other.budget;
    this.#end = other.budget.begin(this.#maxContent);
    return other.credentials;
  }

  override _equals(other: CallCredentials): boolean {
    return this === other;
  }
}
