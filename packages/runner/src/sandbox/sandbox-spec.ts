import type { Image } from "@xfn/oci-rootfs";
import { processConfig } from "@xfn/oci-rootfs";
import type { ResourceLimits, RunOptions } from "@xfn/runner-contract";
import type { LimitCgroup } from "../cgroup/limit-cgroup.ts";
import { MAX_PROCESSES, processRlimit } from "../cgroup/process-rlimit.ts";
import type { PrepareRequest } from "../host/protocol.ts";
import { bundlePaths, networkFiles, sharedRootfs } from "../host/protocol.ts";
import type { OciRuntime } from "./crun.ts";
import { READ_ONLY_TMP_BYTES, WRITABLE_BYTES } from "./limits.ts";
import { runtimeSpec } from "./runtime-spec.ts";
import type { HostId } from "./sandbox-owner.ts";

/** What is needed of an image. */
export type RunnableImage = Pick<Image, "name" | "digest" | "config" | "layers" | "overlay">;

/** What a runner's sandboxes have in common. */
export interface RecipeSettings {
  owner: HostId | undefined;
  rootfs: "auto" | "overlay" | "copy";
  readOnlyRoot: boolean;
  runtime: Pick<OciRuntime, "path" | "family">;
}

/** Everything that a sandbox is made of. Two calls with the same key may use each other's sandbox, if nobody has used it yet. */
export interface Recipe {
  readonly key: string;
  readonly digest: string;
  readonly runtime: Pick<OciRuntime, "path" | "family">;
  readonly limits: ResourceLimits;
  /** Whether its sandboxes may be started before their call. */
  readonly mayStartEarly: boolean;
  /** What it may write, in bytes. */
  readonly writableBytes: number;
  /** What it is made of. */
  container(id: string): Omit<PrepareRequest, "type" | "spec">;
  /** Its config.json. */
  spec(scratch: string, cgroup: LimitCgroup | undefined): string;
}

/** An image with this label has its functions started when they are called and not before. */
export const START_EARLY_LABEL = "dev.xfn.start-early";

// More than this are in use at once by nobody; what is forgotten is made again.
const MAX_RECIPES = 256;

/** The recipes of one runner. Each is made once, as its text alone takes longer to make than a message to send. */
export class Recipes {
  readonly #known = new Map<string, Recipe>();

  /** The recipe of a call. @throws ImageError for an image that cannot be run */
  async of(image: RunnableImage, options: RunOptions, settings: RecipeSettings): Promise<Recipe> {
    const { network = "Isolated", memoryBytes, cpus, pids } = options;
    // The config is part of what the digest is of; layers are named by theirs.
    const key = JSON.stringify([image.digest, network, memoryBytes, cpus, pids]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size === MAX_RECIPES) this.#known.clear();
    const recipe = await recipeOf(key, image, options, settings);
    this.#known.set(key, recipe);
    return recipe;
  }
}

async function recipeOf(
  key: string,
  image: RunnableImage,
  options: RunOptions,
  settings: RecipeSettings,
): Promise<Recipe> {
  const process = await processConfig(image);
  const network = options.network ?? "Isolated";
  const limits: ResourceLimits = {
    ...(options.memoryBytes === undefined ? {} : { memoryBytes: options.memoryBytes }),
    ...(options.cpus === undefined ? {} : { cpus: options.cpus }),
    ...(options.pids === undefined ? {} : { pids: options.pids }),
  };
  const optedOut = image.config.config?.Labels?.[START_EARLY_LABEL] === "false";
  const { owner, readOnlyRoot } = settings;
  // A recipe is kept for long: what is below keeps nothing else alive of its first call, as credentials and a signal.
  const { pids: maxProcesses = MAX_PROCESSES } = options;
  const layers = [...image.layers];
  // A store on a file system without whiteouts has layers that only a copy shows rightly.
  const rootfs = image.overlay ? settings.rootfs : "copy";
  const shared = readOnlyRoot ? sharedName(image.digest, network) : null;
  const writableBytes = shared === null ? WRITABLE_BYTES : READ_ONLY_TMP_BYTES;
  const container = (id: string): Omit<PrepareRequest, "type" | "spec"> => ({
    id,
    layers: [...layers],
    rootfs,
    shared,
    networkFiles: network === "Accessible",
    owner: owner ?? null,
    writableBytes,
  });
  const specs = new Map<number, string>();
  const spec = (scratch: string, cgroup: LimitCgroup | undefined): string => {
    const pids = processRlimit(maxProcesses, cgroup);
    const made =
      specs.get(pids) ??
      runtimeSpec(process, {
        network,
        runtime: settings.runtime.family,
        // An ordinary user is id 0 of the namespace that the host process holds.
        owner: owner ?? { uid: 0, gid: 0 },
        rootfs: shared === null ? bundlePaths.rootfs : sharedRootfs(scratch, shared),
        pids,
        networkFiles: networkFiles(scratch),
        ...(shared === null ? {} : { readOnlyRoot: { tmp: bundlePaths.tmp } }),
      });
    specs.set(pids, made);
    return made;
  };
  // A function that has the network could call somebody before it was called itself.
  return {
    key,
    digest: image.digest,
    runtime: settings.runtime,
    limits,
    mayStartEarly: network === "Isolated" && !optedOut,
    writableBytes,
    container,
    spec,
  };
}

// The name of a directory.
function sharedName(digest: string, network: "Isolated" | "Accessible"): string {
  return `${digest.replace(":", "-")}-${network}`;
}
