import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import { childOf, hostExit } from "./host-exit.ts";

// A shell waits for its child and exits with it, as `unshare --fork` does.
const children: ChildProcess[] = [];

async function parent(script: string): Promise<{ parent: ChildProcess; pid: number }> {
  const child = spawn("sh", ["-c", script], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  children.push(child);
  await once(child.stdout, "data");
  return { parent: child, pid: child.pid as number };
}

afterEach(() => {
  for (const { pid } of children.splice(0)) {
    try {
      process.kill(-(pid as number), "SIGKILL");
    } catch {
      // All processes of the group have exited.
    }
  }
});

/** Whether a process runs. An exited process may remain as a zombie. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

const WAITS = "sleep 600 & echo started; wait";

test("a host that does not exit is killed, even if it is stopped", async () => {
  const { parent: unshare, pid } = await parent(WAITS);
  const host = childOf(pid);
  process.kill(host, "SIGSTOP");
  await hostExit(unshare, 20);
  await vi.waitFor(() => expect(isRunning(host)).toBe(false), { timeout: 20_000 });
});

test("a parent that does not exit with its host is killed", async () => {
  const { parent: unshare, pid } = await parent(WAITS);
  const host = childOf(pid);
  process.kill(pid, "SIGSTOP");
  await hostExit(unshare, 20);
  expect(unshare.signalCode).toBe("SIGKILL");
  await vi.waitFor(() => expect(isRunning(host)).toBe(false), { timeout: 20_000 });
});

test("a parent without a child is killed", async () => {
  const { parent: unshare } = await parent("echo started; exec sleep 600");
  await hostExit(unshare, 20);
  expect(unshare.signalCode).toBe("SIGKILL");
});

test("a host that exits in time is not killed", async () => {
  const { parent: unshare } = await parent("sleep 0.1 & echo started; wait $!; exit 3");
  await hostExit(unshare, 60_000);
  expect(unshare.exitCode).toBe(3);
  await hostExit(unshare, 60_000);
});
