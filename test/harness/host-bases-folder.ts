import { chmod, chown, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { ORDINARY_UID } from "./paths.ts";

/** The variable with the folder of base images that all workers of a test run share: see host-bases.ts. */
export const HOST_BASES = "XFN_TEST_HOST_BASES";

/** The folder in which Node keeps the code that a user's programs compile. Each user trusts only its own. */
export function compiledFolder(bases: string, uid: number): string {
  return join(bases, `compiled-${uid}`);
}

/** Vitest's global set-up: makes the folders. Returns the tear-down, which removes them. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  // Each project calls it.
  if (process.env[HOST_BASES] !== undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "xfn-test-bases-"));
  // The ordinary user may use its own folder, and list nothing.
  await chmod(folder, 0o711);
  const uid = process.getuid?.() ?? 0;
  await mkdir(compiledFolder(folder, uid), { mode: 0o700 });
  if (uid === 0) {
    await mkdir(compiledFolder(folder, ORDINARY_UID), { mode: 0o700 });
    await chown(compiledFolder(folder, ORDINARY_UID), ORDINARY_UID, ORDINARY_UID);
  }
  process.env[HOST_BASES] = folder;
  return () => rm(folder, { recursive: true, force: true });
}
