import type { Stats } from "node:fs";
import type { BytePath } from "../layer/entry-path.ts";

interface PlacedNode {
  /** Set for directories. */
  stats?: Stats;
  /** Set for files with several names. */
  inode?: number;
  readonly children: Map<string, PlacedNode>;
}

/** Directories and hard links that were copied. Removes a directory in constant time, with everything below it. */
export class PlacedTree {
  readonly #root: PlacedNode = { children: new Map() };
  readonly #paths = new Map<number, BytePath[]>();

  setDirectory(path: BytePath, stats: Stats): void {
    this.#make(path).stats = stats;
  }

  setLink(path: BytePath, inode: number): void {
    this.#make(path).inode = inode;
    const paths = this.#paths.get(inode);
    if (paths === undefined) this.#paths.set(inode, [path]);
    else paths.push(path);
  }

  /** Returns a current path of a file, by its inode in the store; later layers may have removed others. */
  pathOf(inode: number): BytePath | undefined {
    const paths = this.#paths.get(inode) ?? [];
    for (let path = paths.at(-1); path !== undefined; path = paths.at(-1)) {
      if (this.#find(path)?.inode === inode) return path;
      paths.pop();
    }
    return undefined;
  }

  /** Forgets a removed path, and everything below it. */
  remove(path: BytePath): void {
    const slash = path.lastIndexOf("/");
    const parent = slash < 0 ? this.#root : this.#find(path.slice(0, slash));
    parent?.children.delete(path.slice(slash + 1));
  }

  /** Visits the directories, children first. */
  visitDirectories(visit: (path: BytePath, stats: Stats) => void): void {
    const walk = (node: PlacedNode, path: BytePath): void => {
      for (const [name, child] of node.children) walk(child, path === "" ? name : `${path}/${name}`);
      if (node.stats !== undefined) visit(path, node.stats);
    };
    walk(this.#root, "");
  }

  #find(path: BytePath): PlacedNode | undefined {
    let node: PlacedNode | undefined = this.#root;
    for (const name of path.split("/")) node = node?.children.get(name);
    return node;
  }

  #make(path: BytePath): PlacedNode {
    let node = this.#root;
    if (path === "") return node;
    for (const name of path.split("/")) {
      let child = node.children.get(name);
      if (child === undefined) node.children.set(name, (child = { children: new Map() }));
      node = child;
    }
    return node;
  }
}
