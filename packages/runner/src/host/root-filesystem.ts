import { chmodSync, chownSync, lstatSync, mkdirSync, rmdirSync, statfsSync, symlinkSync, writeFileSync } from "node:fs";
import { quietly } from "../base/quietly.ts";
import { Devices } from "./devices.ts";
import { flattenOnThread } from "./flatten-thread.ts";
import type { PreparedRoot, PrepareRequest } from "./protocol.ts";
import { sandboxPaths } from "./protocol.ts";
import { SharedRoots } from "./shared-roots.ts";
import { MountFlag, mount, SystemCallError, unmount, unmountTree } from "./syscalls.ts";

// The size of a tmpfs while an image is copied to it. Once the size of the image is known, the tmpfs gets that size
// plus the writable part.
const COPY_BYTES = 4 * 1024 * 1024 * 1024;
const COPY_FILES = 4_000_000;

/**
 * The largest number of files: each takes about a kilobyte of kernel memory, which the size of a tmpfs does not limit.
 */
const MAX_FILES = 65_536;

/**
 * Errors of a kernel that does not allow overlays: for this user, on this file system, or at all. Other errors, such as
 * a lack of memory or a missing layer, do not affect the next overlay.
 */
const OVERLAY_REFUSALS: ReadonlySet<string> = new Set(["EPERM", "EACCES", "EINVAL", "ENODEV", "ENOTSUP", "EOPNOTSUPP"]);

/** With less space left, a write of more than a few pages fails. */
const FULL_BYTES = 64 * 1024;

const scratchSize = (bytes: number, files: number): string => `mode=755,size=${bytes},nr_inodes=${files}`;

/** Mode of new directories under umask 022. */
const DIRECTORY_MODE = 0o755;

/** Creates and removes the root filesystems of calls inside one scratch directory. */
export class RootFilesystems {
  readonly #scratch: string;
  readonly #links = new Map<string, string>();
  readonly #shared: SharedRoots;
  readonly #devices: Devices;
  /** Flags of the tmpfs of a call, which contains the call's devices. */
  readonly #flags: number;
  /** Set when the kernel rejected the first overlay: it will reject the next one too. */
  #overlayRefused: string | undefined;
  /** Whether an overlay was created. A later rejection concerns the image, such as too many layers. */
  #overlayMade = false;

  /** @param scratch a private tmpfs; the process's working directory becomes its `l` directory */
  constructor(scratch: string) {
    this.#scratch = scratch;
    for (const name of ["calls", "shared", "l"]) mkdirSync(`${scratch}/${name}`);
    process.chdir(`${scratch}/l`);
    this.#devices = new Devices(scratch);
    this.#flags = MountFlag.nosuid | (this.#devices.own ? 0 : MountFlag.nodev);
    this.#shared = new SharedRoots(scratch, (request, directory) => this.#fill(request, directory));
  }

  /**
   * Creates the call's directory with a private or shared root filesystem. Call {@link remove} even after a failure.
   */
  async prepare(request: PrepareRequest): Promise<PreparedRoot> {
    const paths = sandboxPaths(this.#scratch, request.id);
    mkdirSync(paths.call);
    const prepared = await this.#root(request, paths.call);
    if (request.readOnly) makeDirectory(paths.tmp, request.owner, 0o1777);
    this.#devices.make(paths.dev);
    return prepared;
  }

  async #root(request: PrepareRequest, call: string): Promise<PreparedRoot> {
    if (request.shared === null) return await this.#fill(request, call);
    const prepared = await this.#shared.use(request.shared, request);
    mount("tmpfs", call, "tmpfs", this.#flags, scratchSize(request.writableBytes, MAX_FILES));
    return prepared;
  }

  /** Whether the writable part of a call's root filesystem is full, in bytes or in files. */
  isFull(id: string): boolean {
    try {
      const { bavail, bsize, ffree } = statfsSync(sandboxPaths(this.#scratch, id).call);
      return bavail * bsize < FULL_BYTES || ffree === 0;
    } catch {
      return false;
    }
  }

  /** Bytes written to a call's root filesystem so far. */
  used(id: string): number {
    try {
      const { blocks, bfree, bsize } = statfsSync(sandboxPaths(this.#scratch, id).call);
      return (blocks - bfree) * bsize;
    } catch {
      return 0;
    }
  }

  /** Removes the call's directory and its mounts. Leftovers disappear with this process. */
  remove(id: string): void {
    const paths = sandboxPaths(this.#scratch, id);
    unmountTree(paths.call, () => {
      quietly(() => rmdirSync(paths.call));
      this.#shared.release(id);
    });
  }

  /** Mounts a tmpfs on a directory and creates `rootfs` in it. */
  async #fill(request: PrepareRequest, directory: string): Promise<PreparedRoot> {
    let mounted = false;
    const mountScratch = (bytes: number, files: number): void => {
      mount("tmpfs", directory, "tmpfs", this.#flags, scratchSize(bytes, files));
      mounted = true;
    };
    let notice = this.#overlayRefused;
    try {
      if (request.rootfs !== "copy" && notice === undefined) {
        mountScratch(request.writableBytes, MAX_FILES);
        const refusal = this.#tryOverlay(request, directory);
        this.#overlayMade ||= refusal === undefined;
        if (refusal === undefined) return { rootfs: "overlay" };
        if (request.rootfs === "overlay") throw refusal;
        notice = refusal.message;
        if (!this.#overlayMade) this.#overlayRefused = notice;
        unmount(directory);
        mounted = false;
      }
      mountScratch(COPY_BYTES, COPY_FILES);
      const rootfs = `${directory}/rootfs`;
      makeDirectory(rootfs, request.owner, 0o755);
      await flattenOnThread(request.layers, rootfs);
      if (request.readOnly) makeMountPoints(rootfs, request);
      const { blocks, bfree, bsize, files, ffree } = statfsSync(directory);
      const size = scratchSize((blocks - bfree) * bsize + request.writableBytes, files - ffree + MAX_FILES);
      mount("tmpfs", directory, "tmpfs", this.#flags | MountFlag.remount, size);
      if (request.readOnly) {
        mount(rootfs, rootfs, null, MountFlag.bind, null);
        makeReadOnly(rootfs);
      }
      return notice === undefined ? { rootfs: "copy" } : { rootfs: "copy", notice };
    } catch (error) {
      if (mounted) unmount(directory);
      throw error;
    }
  }

  /** @returns the kernel's error if it does not allow overlays here. @throws other errors */
  #tryOverlay(request: PrepareRequest, directory: string): SystemCallError | undefined {
    const [rootfs, upper, work] = [`${directory}/rootfs`, `${directory}/upper`, `${directory}/work`];
    mkdirSync(rootfs);
    // The upper directory becomes the overlay's root directory, so it gets the owner of the layers. crun needs mount
    // points in it, and creating them through an overlay is slower.
    makeDirectory(upper, request.owner, 0o755);
    makeMountPoints(upper, request);
    mkdirSync(work);
    // mount(2) takes one page of options. Short links relative to the working directory fit hundreds of layers into
    // it, and need no quoting.
    const lower = request.layers.map((layer) => this.#link(layer)).reverse();
    // Relative for the same reason: commas, colons and backslashes in the path of the cache are not separators.
    const local = (path: string): string => `..${path.slice(this.#scratch.length)}`;
    const options = `lowerdir=${lower.join(":")},upperdir=${local(upper)},workdir=${local(work)},userxattr`;
    try {
      mount("overlay", rootfs, "overlay", 0, options);
    } catch (error) {
      if (error instanceof SystemCallError && OVERLAY_REFUSALS.has(error.code)) return error;
      throw error;
    }
    if (request.readOnly) makeReadOnly(rootfs);
    return undefined;
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

/** No container can undo this, because it is set outside of the container's user namespace. */
function makeReadOnly(rootfs: string): void {
  mount("none", rootfs, null, MountFlag.remount | MountFlag.bind | MountFlag.readonly, null);
}

/** Creates the mount points for crun that the image may lack. */
function makeMountPoints(root: string, request: PrepareRequest): void {
  const { readOnly } = request;
  for (const name of readOnly ? ["proc", "dev", "tmp"] : ["proc", "dev"])
    makeDirectory(`${root}/${name}`, request.owner);
  // In a writable root filesystem crun creates these itself.
  if (!readOnly || !request.networkFiles) return;
  makeDirectory(`${root}/etc`, request.owner);
  // A link in the image can lead anywhere.
  if (!lstatSync(`${root}/etc`).isDirectory()) return;
  for (const name of ["resolv.conf", "hosts"]) {
    unlessExists(() => writeFileSync(`${root}/etc/${name}`, "", { flag: "wx", mode: 0o644 }));
  }
}

function makeDirectory(path: string, owner: PrepareRequest["owner"], mode = DIRECTORY_MODE): void {
  unlessExists(() => {
    mkdirSync(path);
    if (mode !== DIRECTORY_MODE) chmodSync(path, mode);
    if (owner !== null) chownSync(path, owner.uid, owner.gid);
  });
}

function unlessExists(make: () => void): void {
  try {
    make();
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}
