import process from "node:process";
import { afterEach, expect, test, vi } from "vitest";
import { ExitCode } from "./exit-code.ts";
import { type ProgramStart, startProgram } from "./start-program.ts";

const versions = Object.getOwnPropertyDescriptor(process, "versions");

afterEach(() => {
  vi.restoreAllMocks();
  if (versions !== undefined) Object.defineProperty(process, "versions", versions);
  process.exitCode = undefined;
});

async function start(
  node: string,
  load: ProgramStart["load"],
  prepare?: () => void,
): Promise<{ stderr: string; code: unknown }> {
  Object.defineProperty(process, "versions", { ...versions, value: { ...process.versions, node } });
  let stderr = "";
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
  // The runner of this test has listeners of its own.
  vi.spyOn(process, "on").mockReturnValue(process);
  await startProgram({ name: "xfn", stacks: false, load, ...(prepare && { prepare }) });
  return { stderr, code: process.exitCode };
}

test.each(["18.19.0", "20.20.2", "23.11.1"])(
  "Node %s gets a message, and loads nothing of the program",
  async (node) => {
    const load = vi.fn<ProgramStart["load"]>();
    const prepare = vi.fn<() => void>();
    const { stderr, code } = await start(node, load, prepare);
    expect(stderr).toMatch(
      /^xfn: needs Node 24 or newer, but runs on v[\d.]+; install it from https:\/\/nodejs\.org\n$/,
    );
    expect(code).toBe(ExitCode.failed);
    expect(load).not.toHaveBeenCalled();
    expect(prepare).not.toHaveBeenCalled();
  },
);

test.each(["24.0.0", "100.0.0"])("Node %s runs the program, whose exit code counts", async (node) => {
  expect(await start(node, async () => ({ main: async () => 3 }))).toEqual({ stderr: "", code: 3 });
});

test("V8 is tuned before the program is loaded", async () => {
  const calls: string[] = [];
  const load: ProgramStart["load"] = async () => {
    calls.push("load");
    return { main: async () => 0 };
  };
  await start("24.0.0", load, () => void calls.push("prepare"));
  expect(calls).toEqual(["prepare", "load"]);
});

test("a damaged installation is reported without a stack", async () => {
  const { stderr, code } = await start("24.0.0", async () => {
    throw new Error("Cannot find module 'x'");
  });
  expect(stderr).toBe("xfn: cannot start: Cannot find module 'x' (XFN_DEBUG=1 prints the stack)\n");
  expect(code).toBe(ExitCode.failed);
});
