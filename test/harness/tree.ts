import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

/** The properties by which trees are compared, one line per path. */
export type Tree = Map<string, string>;

/**
 * Reads a tree: types, permission bits, sizes, contents, link targets, and names of hard links to one file. Each byte
 * of a name is one character.
 */
export function readTree(root: string): Tree {
  const tree: Tree = new Map();
  const first = new Map<number, string>();
  const visit = (path: string): void => {
    const at = Buffer.concat([Buffer.from(root), Buffer.from(path === "" ? "" : `/${path}`, "latin1")]);
    const stats = lstatSync(at);
    const mode = (stats.mode & 0o7777).toString(8);
    if (stats.isDirectory()) {
      tree.set(path, `directory ${mode}`);
      for (const name of readdirSync(at, "latin1").sort()) visit(path === "" ? name : `${path}/${name}`);
      return;
    }
    const same = stats.nlink > 1 ? first.get(stats.ino) : undefined;
    if (same === undefined) first.set(stats.ino, path);
    const linked = same === undefined ? "" : ` same as ${same}`;
    if (stats.isSymbolicLink()) tree.set(path, `symlink ${readlinkSync(at, "latin1")}${linked}`);
    else if (stats.isFile()) {
      const digest = createHash("sha256").update(readFileSync(at)).digest("hex").slice(0, 16);
      tree.set(path, `file ${mode} ${stats.size} ${digest}${linked}`);
    } else tree.set(path, `${stats.isFIFO() ? "fifo" : `device ${stats.rdev}`} ${mode}${linked}`);
  };
  visit("");
  return tree;
}

/** Describes the differences of two trees. */
export function differences(ours: Tree, theirs: Tree): string[] {
  const paths = new Set([...ours.keys(), ...theirs.keys()]);
  return [...paths]
    .filter((path) => ours.get(path) !== theirs.get(path))
    .map((path) => `${JSON.stringify(path)}: ours ${ours.get(path) ?? "-"}, theirs ${theirs.get(path) ?? "-"}`);
}
