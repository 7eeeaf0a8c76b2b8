import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** The variable with the folder of base images that all workers of a test run share: see host-bases.ts. */
export const HOST_BASES = "XFN_TEST_HOST_BASES";

/** Vitest's global set-up: makes the folder. Returns the tear-down, which removes it. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  // Each project calls it.
  if (process.env[HOST_BASES] !== undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "xfn-test-bases-"));
  process.env[HOST_BASES] = folder;
  return () => rm(folder, { recursive: true, force: true });
}
