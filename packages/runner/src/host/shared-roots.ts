import { mkdirSync, rmdirSync } from "node:fs";
import type { PreparedRoot, PrepareRequest } from "./protocol.ts";
import { unmount } from "./syscalls.ts";

/**
 * Idle root filesystems are removed after this time: a copy takes memory, and each root filesystem keeps a layer in
 * use.
 */
const IDLE_MS = 5 * 60_000;

interface SharedRoot {
  made: Promise<PreparedRoot>;
  users: Set<string>;
  idle: NodeJS.Timeout | undefined;
}

/** Read-only root filesystems: one per image, for all its calls. */
export class SharedRoots {
  readonly #scratch: string;
  readonly #fill: (request: PrepareRequest, directory: string) => Promise<PreparedRoot>;
  readonly #roots = new Map<string, SharedRoot>();
  readonly #byUser = new Map<string, string>();

  /** @param fill mounts a directory and creates `rootfs` in it */
  constructor(scratch: string, fill: (request: PrepareRequest, directory: string) => Promise<PreparedRoot>) {
    this.#scratch = scratch;
    this.#fill = fill;
  }

  /**
   * Creates or reuses the root filesystem with a name. It stays mounted until some time after `release(request.id)`.
   */
  async use(name: string, request: PrepareRequest): Promise<PreparedRoot> {
    let root = this.#roots.get(name);
    if (root === undefined) {
      // If this fails, no root filesystem is registered yet.
      mkdirSync(this.#directory(name));
      root = { made: this.#make(name, request), users: new Set(), idle: undefined };
      this.#roots.set(name, root);
    }
    clearTimeout(root.idle);
    root.users.add(request.id);
    this.#byUser.set(request.id, name);
    try {
      return await root.made;
    } catch (error) {
      // Its release could come when the name belongs to a newer root filesystem, which this request has not used.
      this.#byUser.delete(request.id);
      throw error;
    }
  }

  release(id: string): void {
    const name = this.#byUser.get(id);
    if (name === undefined) return;
    this.#byUser.delete(id);
    const root = this.#roots.get(name);
    root?.users.delete(id);
    if (root === undefined || root.users.size > 0) return;
    root.idle = setTimeout(() => this.#remove(name), IDLE_MS);
    root.idle.unref();
  }

  async #make(name: string, request: PrepareRequest): Promise<PreparedRoot> {
    const directory = this.#directory(name);
    try {
      return await this.#fill(request, directory);
    } catch (error) {
      this.#roots.delete(name);
      removeDirectory(directory);
      throw error;
    }
  }

  #remove(name: string): void {
    const directory = this.#directory(name);
    this.#roots.delete(name);
    try {
      unmount(`${directory}/rootfs`);
      unmount(directory);
      rmdirSync(directory);
    } catch {
      // The mount disappears with this process. A later root filesystem with that name fails with a message.
    }
  }

  #directory(name: string): string {
    return `${this.#scratch}/shared/${name}`;
  }
}

/**
 * Ignores errors, because the caller reports an earlier one. If the directory remains, the next use of its name fails.
 */
function removeDirectory(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // See the doc comment.
  }
}
