// Run in a user and mount namespace of its own: mounts overlays of layers and prints what is seen in them. JSON on stdin,
// [{ layers, mountpoint, empty }], layers bottom first; JSON on stdout, one list of [path, what] each.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { readTree } from "./tree.ts";

interface Stack {
  layers: string[];
  mountpoint: string;
  /** overlayfs wants two directories at least. */
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
