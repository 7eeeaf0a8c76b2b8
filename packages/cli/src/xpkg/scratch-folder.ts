import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InputError } from "@xfn/input";
import { PackageError } from "@xfn/package";
import { explainImageError } from "../store/explain-image-error.ts";

/** Runs `run` with a temporary folder, which is always removed afterwards. */
export async function inScratch<T>(run: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "xfn-xpkg-"));
  try {
    return await run(folder);
  } catch (error) {
    if (error instanceof PackageError)
      throw new InputError(error.message, { details: [...error.details], cause: error });
    throw explainImageError(error);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
