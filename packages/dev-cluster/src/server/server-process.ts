import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

// What a log may add to an error message: the last lines say why a program ended.
const MAX_LOG_BYTES = 3_000;

/** A program of the server that runs in the background, with its output in a file. */
export interface ServerProcess {
  readonly program: string;
  /** Whether it has ended. */
  readonly ended: boolean;
  readonly pid: number;
  /** Resolves when it has ended, for whatever reason. */
  readonly whenEnded: Promise<void>;
  /** The end of what it has said. */
  log(): string;
  /** Ends it at once, and waits for nothing. */
  kill(): void;
  /** Asks it to end, and after this many milliseconds ends it. 0: at once. */
  stop(graceMs: number): Promise<void>;
}

/** Starts a program that must not outlive this process, however this one ends. */
export function startProcess(binary: string, args: readonly string[], folder: string): ServerProcess {
  const program = basename(binary);
  const path = join(folder, `${program}.log`);
  const output = openSync(path, "a", 0o600);
  const dies = diesWithParent();
  const [command, ...rest] = [...dies, binary, ...args];
  const child: ChildProcess = spawn(command ?? binary, rest, {
    cwd: folder,
    // Nothing of the user's own settings: ETCD_* would override what we say.
    env: { PATH: process.env["PATH"], HOME: folder },
    stdio: ["ignore", output, output],
  });
  closeSync(output);
  let failure = "";
  child.on("error", (error) => {
    failure = error.message;
  });
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  const whenEnded = child.pid === undefined ? Promise.resolve() : once(child, "exit").then(() => undefined);
  return {
    program,
    get ended() {
      return hasEnded();
    },
    pid: child.pid ?? 0,
    whenEnded,
    log: () => failure || tail(path),
    kill: () => {
      if (!hasEnded()) child.kill("SIGKILL");
    },
    stop: async (graceMs) => {
      if (hasEnded()) return;
      if (graceMs > 0) {
        child.kill("SIGTERM");
        await Promise.race([whenEnded, sleep(graceMs, undefined, { ref: false })]);
      }
      if (!hasEnded()) child.kill("SIGKILL");
      await whenEnded;
    },
  };
}

// The kernel ends the program with us, even where we are killed. Without util-linux, as on macOS, it stays then.
function diesWithParent(): readonly string[] {
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
