import process from "node:process";
import { expect, vi } from "vitest";
import { PATIENCE } from "./patience.ts";
import { descendantsOf, processFile } from "./processes.ts";

/** Waits for the one loaded runtime below a process. It waits in a read of its configuration, which is a pipe. */
export async function waitingRuntime(root = process.pid): Promise<number> {
  const waits = (pid: number): boolean =>
    processFile(pid, "cmdline").includes("\0run\0--bundle=") && /pipe_read|anon_pipe/.test(processFile(pid, "wchan"));
  return await vi.waitFor(() => {
    const [pid, ...others] = descendantsOf(root).filter(waits);
    expect(others).toEqual([]);
    return pid ?? expect.fail("no runtime waits");
  }, PATIENCE);
}
