import { type BytePath, unsafe } from "./entry-path.ts";
import type { LayerLimits } from "./layer-limits.ts";
import type { TreeNode } from "./layer-tree.ts";

/** Longer than the paths of most files. */
const PATH_BYTES_PER_NODE = 128;

/** Counts what a layer contains, and enforces its limits. */
export class LayerCounts {
  readonly #limits: LayerLimits;
  readonly #maxNodes: number;
  #implied = 0;
  entries = 0;
  /** Files, directories and links. */
  nodes = 0;
  /** Bytes of the paths of nodes, whiteouts and opaque marks. */
  pathBytes = 0;
  fifos = false;

  /** @param maxNodes a layer with more entries or nodes is too large for the thread */
  constructor(limits: LayerLimits, maxNodes: number) {
    this.#limits = limits;
    this.#maxNodes = maxNodes;
  }

  get isTooLarge(): boolean {
    const { entries, nodes, pathBytes } = this;
    // The kernel resolves each component of a path, so that a deep node costs as much as several.
    return Math.max(entries, nodes, pathBytes / PATH_BYTES_PER_NODE) > this.#maxNodes;
  }

  addEntry(): void {
    this.entries += 1;
    const { maxEntries } = this.#limits;
    if (this.entries > maxEntries) throw unsafe(`more than ${maxEntries} entries`);
  }

  addNode(path: BytePath, kind: TreeNode["kind"]): void {
    this.fifos ||= kind === "fifo";
    // Implied directories count too: a path of 256 components uses 256 inodes.
    this.nodes += 1;
    const { maxEntries } = this.#limits;
    if (this.nodes > maxEntries) throw unsafe(`more than ${maxEntries} files and directories`);
    this.addPath(path);
  }

  addPath(path: BytePath): void {
    this.pathBytes += path.length;
    const { maxAllPathBytes } = this.#limits;
    if (this.pathBytes > maxAllPathBytes) throw unsafe(`its paths have more than ${maxAllPathBytes} bytes together`);
  }

  addImplied(): void {
    this.#implied += 1;
    const { maxImpliedDirectories } = this.#limits;
    if (this.#implied > maxImpliedDirectories)
      throw unsafe(`paths imply more than ${maxImpliedDirectories} directories: add entries for them to the archive`);
  }

  /** An entry for an implied directory followed. */
  removeImplied(): void {
    this.#implied -= 1;
  }
}
