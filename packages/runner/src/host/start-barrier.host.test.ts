import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { barrierKind, runtimeCommand } from "./runtime-command.ts";
import { StartBarrier } from "./start-barrier.ts";

// A program that reads its configuration and prints it replaces crun, and a plain file replaces cgroup.procs.

let bundle: string;
beforeEach(() => {
  bundle = temporaryFolder();
});

const config = (): string => join(bundle, "config.json");

function runtime(): { child: ChildProcess; read: () => string; ended: Promise<unknown> } {
  const child = spawn("cat", [config()]);
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  return { child, read: () => Buffer.concat(chunks).toString(), ended: once(child, "close") };
}

/** Whether a process has opened the barrier: its own standard streams are sockets. */
function hasOpened({ pid }: ChildProcess): boolean {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).some((fd) => {
    try {
      return readlinkSync(join(folder, fd)).startsWith("pipe:");
    } catch {
      return false;
    }
  });
}

test.each([100, 300_000])(
  "a runtime reads its configuration, of %i bytes, after it has joined its cgroups",
  async (size) => {
    const text = "x".repeat(size);
    writeFileSync(config(), text);
    const barrier = new StartBarrier(bundle);
    const { child, read, ended } = runtime();
    await expect.poll(() => hasOpened(child)).toBe(true);
    expect(read()).toBe("");
    const procs = join(bundle, "cgroup.procs");
    barrier.open(child.pid as number, [procs]);
    await ended;
    expect(readFileSync(procs, "utf8")).toBe(String(child.pid));
    expect(read() === text).toBe(true);
    barrier.close();
  },
);

test("a runtime that seeks in its configuration waits in a shell, and finds a plain file", async () => {
  writeFileSync(config(), "text");
  const program = join(bundle, "runsc");
  const log = join(bundle, "log");
  writeFileSync(program, `#!/bin/sh\necho $$ >${log}\n`, { mode: 0o755 });
  const barrier = new StartBarrier(bundle, barrierKind("runsc"));
  expect(lstatSync(config()).isFile()).toBe(true);
  const request = { id: "1", runtime: program, runtimeFamily: "runsc", isolated: true, detach: false } as const;
  const { path, argv } = runtimeCommand(bundle, request, barrier.path);
  const child = spawn(path, argv.slice(1));
  const ended = once(child, "close");
  await expect.poll(() => hasOpened(child)).toBe(true);
  expect(existsSync(log)).toBe(false);
  const procs = join(bundle, "cgroup.procs");
  barrier.open(child.pid as number, [procs]);
  await ended;
  expect(readFileSync(log, "utf8")).toBe(`${child.pid}\n`);
  expect(readFileSync(procs, "utf8")).toBe(String(child.pid));
  expect(readFileSync(config(), "utf8")).toBe("text");
  barrier.close();
});

test("a runtime that cannot join its cgroups gets no configuration", async () => {
  writeFileSync(config(), "text");
  const barrier = new StartBarrier(bundle);
  const { child, read, ended } = runtime();
  expect(() => barrier.open(child.pid as number, [join(bundle, "no/cgroup.procs")])).toThrow(/ENOENT/);
  barrier.close();
  await ended;
  expect(read()).toBe("");
});

test("a runtime that opens late, or reads twice, finds the file", () => {
  writeFileSync(config(), "text");
  const barrier = new StartBarrier(bundle);
  barrier.open(1, []);
  expect(lstatSync(config()).isFile()).toBe(true);
  expect(readFileSync(config(), "utf8")).toBe("text");
  barrier.close();
});

test("no descriptor stays open", async () => {
  const open = (): number => readdirSync("/proc/self/fd").length;
  writeFileSync(config(), "text");
  new StartBarrier(bundle).close();
  rmSync(config());
  await sleep(50);
  const before = open();
  for (let call = 0; call < 5; call++) {
    writeFileSync(config(), "text");
    const barrier = new StartBarrier(bundle);
    barrier.open(1, []);
    barrier.close();
    rmSync(config());
  }
  await expect.poll(open).toBeLessThanOrEqual(before);
});
