import { chownSync, mkdirSync, rmdirSync, statfsSync, symlinkSync } from "node:fs";
import type { StartRequest } from "./protocol.ts";
import { sandboxPaths } from "./protocol.ts";
import { MountFlag, mount, unmount } from "./syscalls.ts";

// A copied image counts against the tmpfs that holds it. Its size is known only once it is there: then the bound becomes
// what it takes and the writable part.
const COPY_BYTES = 4 * 1024 * 1024 * 1024;

/** With less than this left, a write of more than a few pages fails. */
const FULL_BYTES = 64 * 1024;

const scratchFlags = MountFlag.nosuid | MountFlag.nodev;
const scratchSize = (bytes: number): string => `mode=755,size=${bytes}`;

/** Makes the root filesystems of calls inside one scratch directory, and takes them away. */
export class RootFilesystems {
  readonly #scratch: string;
  readonly #links = new Map<string, string>();
  /** Set when an overlay was refused once: the host will not allow the next one either. */
  #overlayRefused: string | undefined;

  /** @param scratch - a tmpfs of ours; the process's working directory becomes its `l` directory */
  constructor(scratch: string) {
    this.#scratch = scratch;
    mkdirSync(`${scratch}/calls`);
    mkdirSync(`${scratch}/l`);
    process.chdir(`${scratch}/l`);
  }

  /** Makes the call's directory with a root filesystem in it. On failure nothing is left. */
  async prepare(request: StartRequest): Promise<{ rootfs: "overlay" | "copy"; notice?: string }> {
    const paths = sandboxPaths(this.#scratch, request.id);
    mkdirSync(paths.call);
    let mounted = false;
    const mountScratch = (bytes: number): void => {
      mount("tmpfs", paths.call, "tmpfs", scratchFlags, scratchSize(bytes));
      mounted = true;
    };
    try {
      if (request.rootfs !== "copy" && this.#overlayRefused === undefined) {
        mountScratch(request.writableBytes);
        const refusal = this.#tryOverlay(request);
        if (refusal === undefined) return { rootfs: "overlay" };
        if (request.rootfs === "overlay") throw refusal;
        this.#overlayRefused = refusal.message;
        unmount(paths.call);
        mounted = false;
      }
      mountScratch(COPY_BYTES);
      mkdirSync(paths.rootfs);
      if (request.owner !== null) chownSync(paths.rootfs, request.owner.uid, request.owner.gid);
      // Loaded here because hosts with overlays, most of them, never need it.
      const { flatten } = await import("@xfn/oci-rootfs/flatten");
      flatten(request.layers, paths.rootfs);
      const { blocks, bfree, bsize } = statfsSync(paths.call);
      mount(
        "tmpfs",
        paths.call,
        "tmpfs",
        scratchFlags | MountFlag.remount,
        scratchSize((blocks - bfree) * bsize + request.writableBytes),
      );
      return this.#overlayRefused === undefined ? { rootfs: "copy" } : { rootfs: "copy", notice: this.#overlayRefused };
    } catch (error) {
      if (mounted) unmount(paths.call);
      rmdirSync(paths.call);
      throw error;
    }
  }

  /** Whether the writable part of a call's root filesystem has no room left, in bytes or in files. */
  isFull(id: string): boolean {
    try {
      const { bavail, bsize, files, ffree } = statfsSync(sandboxPaths(this.#scratch, id).call);
      return bavail * bsize < FULL_BYTES || (files > 0 && ffree === 0);
    } catch {
      return false;
    }
  }

  #tryOverlay(request: StartRequest): Error | undefined {
    const paths = sandboxPaths(this.#scratch, request.id);
    mkdirSync(paths.rootfs);
    // The overlay's root directory is the upper one: the function owns it as it owns the layers. crun needs the other two
    // as places to mount on, and making them through an overlay is slower.
    for (const directory of [paths.upper, `${paths.upper}/proc`, `${paths.upper}/dev`]) {
      mkdirSync(directory);
      if (request.owner !== null) chownSync(directory, request.owner.uid, request.owner.gid);
    }
    mkdirSync(paths.work);
    // mount(2) takes one page of options: short links, relative to the working directory, hold hundreds of layers, and
    // no layer path needs quoting.
    const lower = request.layers.map((layer) => this.#link(layer)).reverse();
    try {
      mount(
        "overlay",
        paths.rootfs,
        "overlay",
        0,
        `lowerdir=${lower.join(":")},upperdir=${paths.upper},workdir=${paths.work},userxattr`,
      );
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #link(layer: string): string {
    let link = this.#links.get(layer);
    if (link === undefined) {
      link = String(this.#links.size);
      symlinkSync(layer, link);
      this.#links.set(layer, link);
    }
    return link;
  }
}
