// Mounts overlays of layers and prints their content. It runs in separate user and mount namespaces. stdin is JSON,
// [{ layers, mountpoint, empty }], layers bottom first. stdout is JSON, a list of [path, what] for each.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { readTree } from "./tree.ts";

interface Stack {
  layers: string[];
  mountpoint: string;
  /** overlayfs requires two directories. */
  empty: string;
}

const stacks = JSON.parse(readFileSync(0, "utf8")) as Stack[];
const seen = stacks.map(({ layers, mountpoint, empty }) => {
  const lower = [empty, ...layers.toReversed()].join(":");
  execFileSync("mount", ["-t", "overlay", "overlay", "-o", `userxattr,lowerdir=${lower}`, mountpoint]);
  try {
    return [...readTree(mountpoint)];
  } finally {
    execFileSync("umount", [mountpoint]);
  }
});
console.log(JSON.stringify(seen));
