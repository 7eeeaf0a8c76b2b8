import { rm } from "node:fs/promises";

/** Removes a folder that no process uses. */
export async function removeRoot(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
