import { mkdirSync, rmdirSync } from "node:fs";
import { type Lease, Shared } from "@xfn/lifetime";
import type { PreparedRoot, PrepareRequest } from "./protocol.ts";
import { unmount } from "./syscalls.ts";

/**
 * Idle root filesystems are removed after this time: a copy takes memory, and each root filesystem keeps a layer in
 * use.
 */
const IDLE_MS = 5 * 60_000;

interface SharedRoot {
  readonly directory: string;
  readonly made: Promise<PreparedRoot>;
}

/** Read-only root filesystems: one per image, for all its calls. */
export class SharedRoots {
  readonly #scratch: string;
  readonly #fill: (request: PrepareRequest, directory: string) => Promise<PreparedRoot>;
  readonly #roots = new Shared<string, SharedRoot>(remove, IDLE_MS);
  readonly #leases = new Map<string, Lease<SharedRoot>>();

  /** @param fill mounts a directory and creates `rootfs` in it */
  constructor(scratch: string, fill: (request: PrepareRequest, directory: string) => Promise<PreparedRoot>) {
    this.#scratch = scratch;
    this.#fill = fill;
  }

  /**
   * Creates or reuses the root filesystem with a name. It stays mounted until some time after `release(request.id)`.
   */
  async use(name: string, request: PrepareRequest): Promise<PreparedRoot> {
    const lease = this.#roots.use(name, () => {
      const directory = `${this.#scratch}/shared/${name}`;
      // If this fails, no root filesystem is registered yet.
      mkdirSync(directory);
      return { directory, made: this.#make(name, request, directory) };
    });
    this.#leases.set(request.id, lease);
    try {
      return await lease.value.made;
    } catch (error) {
      // Nothing to release: the folder can belong to a newer root filesystem by then.
      this.#leases.delete(request.id);
      throw error;
    }
  }

  release(id: string): void {
    this.#leases.get(id)?.release();
    this.#leases.delete(id);
  }

  async #make(name: string, request: PrepareRequest, directory: string): Promise<PreparedRoot> {
    try {
      return await this.#fill(request, directory);
    } catch (error) {
      this.#roots.forget(name);
      removeDirectory(directory);
      throw error;
    }
  }
}

function remove({ directory }: SharedRoot): void {
  try {
    unmount(`${directory}/rootfs`);
    unmount(directory);
    rmdirSync(directory);
  } catch {
    // The mount disappears with this process. A later root filesystem with that name fails with a message.
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
