import { spawn } from "node:child_process";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { CONTROLLER_MAIN } from "./paths.ts";

// The controller is ready within two seconds; a busy machine may need longer.
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;

/** A line of the controller's log. */
export type ControllerLogLine = Readonly<Record<string, unknown>> & { readonly msg?: string; readonly level?: string };

/** A running `xfn-controller start`. */
export interface RunningController extends AsyncDisposable {
  /** The log so far. */
  log(): ControllerLogLine[];
  /** Waits for a log line. @throws {Error} with the log, if the program exits without it */
  logged(wanted: (line: ControllerLogLine) => boolean): Promise<ControllerLogLine>;
  /** `http://127.0.0.1:PORT` of its metrics and probes. */
  readonly http: string;
  readonly pid: number;
  /** Resolves with the exit code, or the signal that ended the program. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  /** Sends a signal, and returns the exit code, or the signal that ended the program. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
}

export interface ControllerOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The message to wait for. Default: `ready` */
  readonly until?: string;
  /** Returns a command that becomes the program, with the same process id. */
  readonly wrap?: (command: readonly string[]) => readonly string[];
}

/** Starts `xfn-controller start ARGS`, with metrics on a free port, and waits until it is ready. */
export async function startController(kubeconfig: string, options: ControllerOptions = {}): Promise<RunningController> {
  const start = [CONTROLLER_MAIN, "start", "--metrics-address", "127.0.0.1:0", ...(options.args ?? [])];
  const command = [process.execPath, ...start];
  const [program = "", ...args] = options.wrap?.(command) ?? command;
  const child = spawn(program, args, {
    env: { PATH: process.env["PATH"], KUBECONFIG: kubeconfig, ...options.env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(signal ?? code));
  });
  ended.catch(() => undefined);
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const log = (): ControllerLogLine[] =>
    stderr
      .split("\n")
      .slice(0, -1)
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as ControllerLogLine);
  const logged = async (wanted: (line: ControllerLogLine) => boolean): Promise<ControllerLogLine> => {
    for (const end = Date.now() + START_TIMEOUT_MS; ; await sleep(20)) {
      const found = log().find(wanted);
      if (found !== undefined) return found;
      if (hasEnded() || Date.now() > end) throw new Error(`xfn-controller did not log it:\n${stderr}`);
    }
  };
  const end = async (signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> => {
    const guard = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    if (!hasEnded()) child.kill(signal);
    try {
      return await ended;
    } finally {
      clearTimeout(guard);
    }
  };
  try {
    const started = await logged(({ msg }) => msg === "started");
    await logged(({ msg }) => msg === (options.until ?? "ready"));
    return {
      log,
      logged,
      http: String(started["metrics"]),
      pid: child.pid ?? 0,
      ended,
      end,
      [Symbol.asyncDispose]: async () => void (await end("SIGTERM")),
    };
  } catch (error) {
    await end("SIGKILL");
    throw error;
  }
}
