import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import type { PreparedRoot, PrepareRequest } from "./protocol.ts";
import { SharedRoots } from "./shared-roots.ts";

// Nothing is mounted here: a root is a directory.
vi.mock("./syscalls.ts", () => ({ unmount: () => undefined }));

const HOUR_MS = 60 * 60_000;

let scratch: string;
beforeEach(() => {
  scratch = temporaryFolder();
  mkdirSync(join(scratch, "shared"));
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const call = (id: string): PrepareRequest => ({
  type: "prepare",
  id,
  layers: [],
  rootfs: "auto",
  readOnly: true,
  shared: "image",
  networkFiles: false,
  owner: null,
  writableBytes: 1,
  config: 0,
});

/** Roots that cannot be filled while `fails` has a reason. */
function roots(): { roots: SharedRoots; failing: { reason?: string }; filled: () => number } {
  const failing: { reason?: string } = {};
  let count = 0;
  const fill = async (): Promise<PreparedRoot> => {
    count++;
    if (failing.reason !== undefined) throw new Error(failing.reason);
    return { rootfs: "overlay" };
  };
  return { roots: new SharedRoots(scratch, fill), failing, filled: () => count };
}

test("makes one for all users, and removes it some time after the last", async () => {
  const { roots: shared, filled } = roots();
  await Promise.all(["a", "b"].map((id) => shared.use("image", call(id))));
  shared.release("a");
  vi.advanceTimersByTime(HOUR_MS);
  expect(existsSync(join(scratch, "shared/image"))).toBe(true);
  shared.release("b");
  vi.advanceTimersByTime(HOUR_MS);
  expect(existsSync(join(scratch, "shared/image"))).toBe(false);
  expect(filled()).toBe(1);
});

test("the next call makes one whose directory could not be made", async () => {
  const { roots: shared } = roots();
  rmSync(join(scratch, "shared"), { recursive: true });
  await expect(shared.use("image", call("a"))).rejects.toThrow("ENOENT");
  mkdirSync(join(scratch, "shared"));
  expect(await shared.use("image", call("b"))).toEqual({ rootfs: "overlay" });
});

test("fails all waiting calls of one that could not be filled, and the next call makes it", async () => {
  const { roots: shared, failing, filled } = roots();
  failing.reason = "no memory";
  const uses = ["a", "b"].map((id) => shared.use("image", call(id)));
  for (const use of uses) await expect(use).rejects.toThrow("no memory");
  expect(existsSync(join(scratch, "shared/image"))).toBe(false);
  delete failing.reason;
  expect(await shared.use("image", call("c"))).toEqual({ rootfs: "overlay" });
  expect(filled()).toBe(2);
});

test("releasing a failed one does not release the next one", async () => {
  const { roots: shared, failing } = roots();
  failing.reason = "no memory";
  await expect(shared.use("image", call("a"))).rejects.toThrow("no memory");
  delete failing.reason;
  await shared.use("image", call("b"));
  shared.release("b");
  // Each call releases its root, including a failed call.
  shared.release("a");
  await shared.use("image", call("c"));
  vi.advanceTimersByTime(HOUR_MS);
  expect(existsSync(join(scratch, "shared/image"))).toBe(true);
});
