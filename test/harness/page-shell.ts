import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

// Runs the commands of a page of the documentation.

export const PATIENCE_MS = 60_000;

/** A shell that retains its variables between commands. */
export interface Shell {
  /** The output of a command. */
  run(command: string): Promise<string>;
  end(): Promise<void>;
}

export function startShell(cwd: string, env: NodeJS.ProcessEnv): Shell {
  const child = spawn("sh", [], { cwd, env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  let count = 0;
  return {
    async run(command) {
      const mark = `--- ${++count} ---`;
      output = "";
      child.stdin.write(`${command}\necho '${mark}'\n`);
      for (const end = Date.now() + 2 * PATIENCE_MS; !output.endsWith(`${mark}\n`); await sleep(20)) {
        if (Date.now() > end) throw new Error(`${command} did not end:\n${output}`);
      }
      return output.slice(0, -mark.length - 1);
    },
    end: () => endGroup(child),
  };
}

// Kubernetes looks for garbage of new kinds each half minute: start kubectl ever more rarely.
const PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 3_000;

/** Runs a command of a page, and `kubectl get` until its output matches. @returns the last output */
export async function runUntil(shell: Shell, command: string, expected: RegExp): Promise<string> {
  const end = Date.now() + 2 * PATIENCE_MS;
  for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const shown = await shell.run(command);
    if (expected.test(shown) || !command.startsWith("kubectl get") || Date.now() > end) return shown;
    await sleep(pauseMs);
  }
}

/** Ends a program with all that it started. */
export async function endGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("close", resolve));
  process.kill(-child.pid, "SIGINT");
  const killed = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), 15_000);
  await ended;
  clearTimeout(killed);
}

/** The expected output, in which `...` matches any text. */
export function matching(shown: string): RegExp {
  const source = shown.trimEnd().split("...").map(RegExp.escape).join("[\\s\\S]*?");
  return new RegExp(`^${source}\\s*$`);
}
