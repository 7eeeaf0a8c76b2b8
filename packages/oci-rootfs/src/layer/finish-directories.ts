import type { BytePath } from "./entry-path.ts";
import type { LayerFiles } from "./layer-files.ts";
import type { TreeDirectory } from "./layer-tree.ts";

/** Sets modes and times of all directories, and marks opaque ones. Returns the implied and the opaque directories. */
export function finishDirectories(
  root: TreeDirectory,
  files: LayerFiles,
): { implied: BytePath[]; opaque: BytePath[]; supported: boolean } {
  const implied: BytePath[] = [];
  const opaque: BytePath[] = [];
  let supported = true;
  const finish = (directory: TreeDirectory, hidden: boolean): void => {
    if (directory.implied && directory.path !== "" && !hidden && !directory.renewed) implied.push(directory.path);
    if (directory.opaque) {
      opaque.push(directory.path);
      // overlayfs always merges roots. The record makes callers omit the lower layers instead.
      if (directory.path !== "") supported = files.markOpaque(directory.path) && supported;
    }
    for (const child of directory.children.values())
      if (child.kind === "directory") finish(child, hidden || directory.opaque);
    // Comes last, because its final mode may not let this process search or write the directory.
    files.finishDirectory(directory.path, directory.mode, directory.mtime);
  };
  finish(root, false);
  return { implied, opaque, supported };
}
