import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

// Bounds the log in an error message: the last lines say why a program exited.
const MAX_LOG_BYTES = 3_000;

/** A background program of the server, with its output in a file. */
export interface ServerProcess {
  readonly program: string;
  readonly hasExited: boolean;
  readonly pid: number;
  /** Resolves when the program has exited, for any reason. */
  readonly whenExited: Promise<void>;
  /** The end of its log. */
  log(): string;
  /** Kills the program, and does not wait. */
  kill(): void;
  /** Sends SIGTERM, and SIGKILL after `graceMs` milliseconds; at once for 0. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Starts a program that must not outlive this process, even if this process is killed.
 *
 * @param environment variables besides PATH and HOME
 */
export function startProcess(
  binary: string,
  args: readonly string[],
  folder: string,
  environment: NodeJS.ProcessEnv = {},
): ServerProcess {
  const program = basename(binary);
  const path = join(folder, `${program}.log`);
  const output = openSync(path, "a", 0o600);
  const [command, ...rest] = [...dyingWithParent(), binary, ...args];
  const child: ChildProcess = spawn(command ?? binary, rest, {
    cwd: folder,
    // Not the user's environment: variables ETCD_* would override our arguments.
    env: { PATH: process.env["PATH"], HOME: folder, ...environment },
    stdio: ["ignore", output, output],
  });
  closeSync(output);
  let failure = "";
  child.on("error", (error) => {
    failure = error.message;
  });
  const hasExited = (): boolean => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  const whenExited = child.pid === undefined ? Promise.resolve() : once(child, "exit").then(() => undefined);
  return {
    program,
    get hasExited() {
      return hasExited();
    },
    pid: child.pid ?? 0,
    whenExited,
    log: () => failure || tail(path),
    kill: () => {
      if (!hasExited()) child.kill("SIGKILL");
    },
    stop: async (graceMs) => {
      if (hasExited()) return;
      if (graceMs > 0) {
        child.kill("SIGTERM");
        await Promise.race([whenExited, sleep(graceMs, undefined, { ref: false })]);
      }
      if (!hasExited()) child.kill("SIGKILL");
      await whenExited;
    },
  };
}

// The kernel kills the program when this process ends. Without util-linux, as on macOS, the program survives a kill of
// this process.
function dyingWithParent(): readonly string[] {
  const setpriv = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "setpriv"))
    .find((path) => existsSync(path));
  return setpriv === undefined ? [] : [setpriv, "--pdeathsig", "KILL", "--"];
}

function tail(path: string): string {
  try {
    return readFileSync(path, "utf8").slice(-MAX_LOG_BYTES);
  } catch {
    return "";
  }
}
