import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createRunnerClient,
  createRunnerServer,
  type RunnerClient,
  type RunnerClientOptions,
  type RunnerServer,
  type RunnerServerOptions,
  SERVICE_NAME,
} from "../src/index.ts";

/** A token in the form that an operator would generate. */
export const TOKEN = "c2VjcmV0LXRva2VuLW9mLXRlc3Rz";

/** A server, its clients and its files for the duration of a test. */
export class Serving implements AsyncDisposable {
  /** The name of the contract's service. */
  readonly service: string = SERVICE_NAME;
  readonly folder: string = mkdtempSync(join(tmpdir(), "xfn-grpc-"));
  readonly #clients: RunnerClient[] = [];
  readonly #servers: RunnerServer[] = [];

  /** A path below the folder of this test. */
  path(name: string): string {
    return join(this.folder, name);
  }

  /** Writes a file below the folder of this test. */
  file(name: string, content: string): string {
    writeFileSync(this.path(name), content);
    return this.path(name);
  }

  /** Starts a server. By default it listens on a path socket and echoes its input. */
  async server(options: Partial<RunnerServerOptions> = {}): Promise<{ server: RunnerServer; address: string }> {
    const server = createRunnerServer({
      run: (_image, input) => Promise.resolve(input),
      addresses: [`unix:${this.path("runner.sock")}`],
      maxConcurrent: 4,
      maxQueued: 4,
      ...options,
    });
    this.#servers.push(server);
    const [address = ""] = await server.start();
    return { server, address };
  }

  client(endpoint: string, options: Partial<RunnerClientOptions> = {}): RunnerClient {
    const client = createRunnerClient({ endpoint, ...options });
    this.#clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.close();
    for (const server of this.#servers) await server.stop(0);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A unique abstract socket. */
export function abstractName(): string {
  return `@xfn-test/${process.pid}/${crypto.randomUUID()}`;
}

/** A `run` that reports its start and continues until its signal ends it. */
export function endless(): { run: RunnerServerOptions["run"]; started: Promise<void>; ended: Promise<unknown> } {
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  return {
    run: (_image, _input, { signal }) =>
      new Promise((_resolve, reject) => {
        started.resolve();
        signal.addEventListener("abort", () => {
          ended.resolve(signal.reason);
          reject(signal.reason as Error);
        });
      }),
    started: started.promise,
    ended: ended.promise,
  };
}
