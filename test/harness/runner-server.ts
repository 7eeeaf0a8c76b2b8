import { randomBytes } from "node:crypto";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { createRunnerClient, type RunnerClient, type RunnerClientOptions } from "@xfn/runner-grpc";
import { RUNNER_MAIN } from "./paths.ts";
import type { Finished, RunOptions, Started, Workspace } from "./workspace.ts";

// The runner listens within a second; a busy machine may need longer.
const START_TIMEOUT_MS = 30_000;

/** A line of a runner's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

/** A running `xfn-runner serve`. */
export interface RunningServer extends AsyncDisposable {
  readonly started: Started;
  /** The addresses, with the chosen ports. */
  readonly addresses: readonly string[];
  /** `http://127.0.0.1:PORT` of its metrics. */
  readonly http: string;
  /** The log so far. */
  log(): LogLine[];
  /** Waits for a log line. */
  logged(wanted: (line: LogLine) => boolean): Promise<LogLine>;
  /** Sends a signal to the program. */
  signal(name: NodeJS.Signals): void;
}

/**
 * Starts `xfn-runner serve ARGS` with metrics on a free port. Waits until it listens and, by default, until it is
 * ready.
 */
export async function startRunnerServer(
  workspace: Workspace,
  args: readonly string[],
  options: RunOptions & { ready?: boolean; wrap?: (command: readonly string[]) => readonly string[] } = {},
): Promise<RunningServer> {
  const command = [process.execPath, RUNNER_MAIN, "serve", "--metrics-address", "127.0.0.1:0", ...args];
  const started = workspace.start(options.wrap?.(command) ?? command, options);
  const log = (): LogLine[] =>
    started
      .stderr()
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as LogLine);
  let ended: Finished | undefined;
  const watch = async (): Promise<void> => {
    ended = await started.finished;
  };
  void watch();
  const logged = async (wanted: (line: LogLine) => boolean): Promise<LogLine> => {
    for (const end = Date.now() + START_TIMEOUT_MS; ; await sleep(20)) {
      if (ended === undefined || ended.code === 0) {
        const found = log().find(wanted);
        if (found !== undefined) return found;
      }
      if (ended !== undefined || Date.now() > end) throw new Error(`xfn-runner did not log it:\n${started.stderr()}`);
    }
  };
  try {
    const listening = await logged(({ msg }) => msg === "listening");
    if (options.ready !== false) await logged(({ msg }) => msg === "ready");
    return {
      started,
      addresses: listening["addresses"] as string[],
      http: listening["metrics"] as string,
      log,
      logged,
      signal: (name) => process.kill(started.child.pid ?? 0, name),
      async [Symbol.asyncDispose]() {
        if (ended === undefined) started.child.kill("SIGTERM");
        await started.finished;
      },
    };
  } catch (error) {
    started.child.kill("SIGKILL");
    throw error;
  }
}

/** Returns a new abstract socket. */
export function abstractAddress(): string {
  return `unix:///@xfn-test/${process.pid}/${randomBytes(4).toString("hex")}`;
}

/** Creates a client that closes with its test: `using client = clientOf({ endpoint })`. */
export function clientOf(options: RunnerClientOptions): RunnerClient & Disposable {
  const client = createRunnerClient(options);
  return Object.assign(client, { [Symbol.dispose]: () => client.close() });
}
