import { createHash } from "node:crypto";
import { basename } from "node:path";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import type { Output } from "../terminal/output.ts";

export interface FolderImageOptions {
  /** The folder of the store. Absent: the default. */
  readonly cacheDir?: string | undefined;
  readonly output: Output;
  readonly signal: AbortSignal;
}

/**
 * Builds the image of a function's folder into the store and returns its name. Does not check types: editors do, and a
 * check would take longer than the build.
 *
 * @param folder - absolute
 * @throws InputError if the folder is not a function
 */
export async function buildFolderImage(folder: string, options: FolderImageOptions): Promise<string> {
  const { cacheDir, output, signal } = options;
  // Loaded on demand: most runs name images.
  const [{ buildFunction }, { oneLine }, { openImageStore }] = await Promise.all([
    import("@xfn/function-build"),
    import("@xfn/program/terminal-text"),
    import("../store/open-store.ts"),
  ]);
  const name = folderImageName(folder);
  await withElapsedTime(output, `building ${oneLine(folder, 200)}`, async () =>
    buildFunction({
      path: folder,
      name,
      store: await openImageStore(cacheDir),
      check: false,
      onNote: (message) => output.note(`xfn: ${oneLine(message)}`),
      signal,
    }),
  );
  return name;
}

/** One name for each folder, so that a new build replaces the old one and `xfn images prune` removes that. */
function folderImageName(folder: string): string {
  const title = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  const hash = createHash("sha256").update(folder).digest("hex").slice(0, 12);
  return `folder/${title === "" ? "function" : title.slice(0, 60).replace(/-+$/, "")}:${hash}`;
}
