import type { RunnerClient } from "@xfn/runner-grpc";
import type { RunnerDirectory } from "../objects/context.ts";

/** A runner that controllers call over gRPC or in this process. */
export type CallableRunner = Omit<RunnerClient, "close">;

/** The controller's own runner, which steps may always name. */
export interface OwnRunner {
  readonly client: CallableRunner;
  readonly endpoint: string;
  /** The contract's default endpoint. A step that names it uses this runner, even if `endpoint` differs. */
  readonly defaultEndpoint: string;
}

/** The runners that steps may name. Each connection is opened at its first call. */
export class AllowedRunners implements RunnerDirectory {
  readonly #own: OwnRunner;
  readonly #allowed: ReadonlySet<string>;
  readonly #connect: (endpoint: string) => RunnerClient;
  readonly #clients: Map<string, RunnerClient> = new Map();

  /** @param allowed the endpoints of other runners */
  constructor(own: OwnRunner, allowed: readonly string[], connect: (endpoint: string) => RunnerClient) {
    this.#own = own;
    this.#allowed = new Set(allowed);
    this.#connect = connect;
  }

  at(endpoint: string): CallableRunner | undefined {
    const own = this.#own;
    if (endpoint === own.endpoint) return own.client;
    if (!this.#allowed.has(endpoint)) return endpoint === own.defaultEndpoint ? own.client : undefined;
    const client = this.#clients.get(endpoint) ?? this.#connect(endpoint);
    this.#clients.set(endpoint, client);
    return client;
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }
}
