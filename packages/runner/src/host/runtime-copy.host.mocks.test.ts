import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { runtimeCopy } from "./runtime-copy.ts";
import { SystemCallError, sealedCopy } from "./syscalls.ts";

vi.mock("./syscalls.ts", async (original) => ({
  ...(await original<typeof import("./syscalls.ts")>()),
  sealedCopy: vi.fn<typeof sealedCopy>(),
}));

// A path is copied only once, so each test has its own path.
let folder: string;
let runtime: string;
beforeEach(() => {
  folder = temporaryFolder();
  runtime = join(folder, "crun");
  writeFileSync(runtime, "\x7fELF and so on");
  vi.mocked(sealedCopy).mockReset();
});

const failsOnce = (call: string, errno: number): void => {
  vi.mocked(sealedCopy)
    .mockImplementationOnce(() => {
      throw new SystemCallError(call, errno);
    })
    .mockReturnValue(20);
};

test("a runtime is copied once", () => {
  vi.mocked(sealedCopy).mockReturnValue(20);
  expect(runtimeCopy(runtime)).toBe("/proc/1/fd/20");
  expect(runtimeCopy(runtime)).toBe("/proc/1/fd/20");
  expect(sealedCopy).toHaveBeenCalledTimes(1);
});

test.each([
  ["EMFILE", 24],
  ["ENFILE", 23],
  ["ENOMEM", 12],
  ["ENOSPC", 28],
])("a transient error (%s) fails the call, and the next call makes the copy", (code, errno) => {
  failsOnce("memfd_create", errno);
  expect(() => runtimeCopy(runtime)).toThrow(code);
  expect(runtimeCopy(runtime)).toBe("/proc/1/fd/20");
});

test("starts the runtime itself if the kernel executes no programs from memory", () => {
  failsOnce("memfd_create", 13);
  expect(runtimeCopy(runtime)).toBe(runtime);
  expect(runtimeCopy(runtime)).toBe(runtime);
  expect(sealedCopy).toHaveBeenCalledTimes(1);
});

test("starts a script or a missing file under its own path", () => {
  writeFileSync(runtime, "#!/bin/sh\n");
  expect(runtimeCopy(runtime)).toBe(runtime);
  expect(runtimeCopy(join(folder, "missing"))).toBe(join(folder, "missing"));
  expect(sealedCopy).not.toHaveBeenCalled();
});
