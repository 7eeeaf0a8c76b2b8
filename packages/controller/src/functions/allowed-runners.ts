import type { RunnerClient } from "@xfn/runner-grpc";
import type { RunnerDirectory } from "../objects/context.ts";

/** A runner as controllers use it: over gRPC, or in this process. */
export type CallableRunner = Omit<RunnerClient, "close">;

/** The runners that steps may name. Each is connected at its first call. */
export class AllowedRunners implements RunnerDirectory {
  readonly #own: readonly [endpoint: string, client: CallableRunner];
  readonly #allowed: ReadonlySet<string>;
  readonly #connect: (endpoint: string) => RunnerClient;
  readonly #clients: Map<string, RunnerClient> = new Map();

  /**
   * @param own the controller's own runner, which steps may always name
   * @param allowed the endpoints of other runners
   */
  constructor(
    own: readonly [endpoint: string, client: CallableRunner],
    allowed: readonly string[],
    connect: (endpoint: string) => RunnerClient,
  ) {
    this.#own = own;
    this.#allowed = new Set(allowed);
    this.#connect = connect;
  }

  at(endpoint: string): CallableRunner | undefined {
    const [ownEndpoint, ownClient] = this.#own;
    if (endpoint === ownEndpoint) return ownClient;
    if (!this.#allowed.has(endpoint)) return undefined;
    const client = this.#clients.get(endpoint) ?? this.#connect(endpoint);
    this.#clients.set(endpoint, client);
    return client;
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }
}
