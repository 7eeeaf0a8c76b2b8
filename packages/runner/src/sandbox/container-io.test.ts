import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readdirSync, readlinkSync, write, writeSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { DEFAULT_OUTPUT_BYTES } from "@xfn/runner-contract";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { type ContainerIo, closeStdio, openContainerIo, openStdio, type Stdio } from "./container-io.ts";

/** The options of {@link openPipes}. */
interface PipeOptions {
  maxOutputBytes?: number;
  input?: string;
  /** Whether no process has stdin open. */
  stdinClosed?: boolean;
}

/** Creates the pipes of a container. Returns their paths, and the ends of a process that keeps them open. */
function makePipes(): Stdio & { paths: Parameters<typeof openStdio>[0] } {
  const folder = temporaryFolder();
  const paths = { stdin: join(folder, "stdin"), stdout: join(folder, "stdout"), stderr: join(folder, "stderr") };
  execFileSync("mkfifo", Object.values(paths));
  const [stdin, stdout, stderr] = Object.values(paths).map((path) => openSync(path, constants.O_RDWR));
  if (stdin === undefined || stdout === undefined || stderr === undefined) throw new Error("unreachable");
  return { paths, stdin, stdout, stderr };
}

/** The pipes of a container whose other ends stay open, as in a process that received them through a socket. */
function openPipes({ maxOutputBytes, input = "", stdinClosed = false }: PipeOptions = {}): {
  io: ContainerIo;
  stdout: number;
  stderr: number;
  tooLarge: () => boolean;
} {
  const { paths, stdin, stdout, stderr } = makePipes();
  const stdio = openStdio(paths);
  if (stdinClosed) closeSync(stdin);
  onTestFinished(() => [...(stdinClosed ? [] : [stdin]), stdout, stderr].forEach(closeSync));
  let tooLarge = false;
  const io = openContainerIo(
    stdio,
    Buffer.from(input),
    () => {
      tooLarge = true;
    },
    { maxOutputBytes },
  );
  return { io, stdout, stderr, tooLarge: () => tooLarge };
}

test("a call ends with its container, although another process has its stdout", async () => {
  const { io, stdout, stderr } = openPipes();
  const answer = Buffer.alloc(60_000, "a");
  writeSync(stdout, answer);
  writeSync(stderr, "log");
  expect(await io.drain(() => false)).toEqual({ stdout: answer, stderr: "log" });
});

test("a process that writes on cannot delay the end beyond the deadline", async () => {
  const { io, stdout } = openPipes();
  const writer = setInterval(() => writeSync(stdout, "more"), 1);
  onTestFinished(() => clearInterval(writer));
  // The drain checks repeatedly whether the deadline has passed. Before that it would not end.
  let asked = 0;
  await io.drain(() => ++asked > 3);
  expect(asked).toBe(4);
});

test("the content of the pipe is read completely, although the runner was busy", async () => {
  const { io, stdout } = openPipes();
  const answer = Buffer.alloc(65_536, "a");
  writeSync(stdout, answer);
  const drained = io.drain(() => false);
  const busyUntil = performance.now() + 100;
  while (performance.now() < busyUntil);
  expect((await drained).stdout).toEqual(answer);
});

test("16 MiB of stdout are read by default, and no byte more", async () => {
  const { io, stdout, tooLarge } = openPipes();
  const print = promisify(write);
  await print(stdout, Buffer.alloc(DEFAULT_OUTPUT_BYTES));
  expect(tooLarge()).toBe(false);
  await print(stdout, Buffer.alloc(1));
  await vi.waitFor(() => expect(tooLarge()).toBe(true), 30_000);
  io.abandon();
});

test("the output of another process is bounded too", async () => {
  const { io, stdout, tooLarge } = openPipes({ maxOutputBytes: 1_000 });
  writeSync(stdout, Buffer.alloc(2_000));
  await io.drain(tooLarge);
  expect(tooLarge()).toBe(true);
});

test.each([
  ["its container has ended", true],
  ["its container can read it", false],
])("an input is refused or not: %s", async (_, stdinClosed) => {
  const { io } = openPipes({ input: "input", stdinClosed });
  expect(io.inputRefused).toBe(stdinClosed);
  await io.drain(() => true);
});

/** The descriptors of this process that have a path open. */
function descriptorsOf(path: string): string[] {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path;
    } catch {
      // This descriptor was the one of the directory listing.
      return false;
    }
  });
}

test("the pipes of a sandbox that no call uses are closed", () => {
  const { paths, ...ends } = makePipes();
  closeStdio(openStdio(paths));
  closeStdio(ends);
  for (const path of Object.values(paths)) expect(descriptorsOf(path)).toEqual([]);
});

test("if one pipe cannot be opened, the others are closed", () => {
  const { paths, ...ends } = makePipes();
  expect(() => openStdio({ ...paths, stderr: `${paths.stderr}-missing` })).toThrow("ENOENT");
  for (const end of Object.values(ends)) closeSync(end);
  for (const path of Object.values(paths)) expect(descriptorsOf(path)).toEqual([]);
});
