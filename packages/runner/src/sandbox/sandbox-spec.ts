import type { Image, ProcessConfig } from "@xfn/oci-rootfs";
import { processConfig } from "@xfn/oci-rootfs";
import { type ResourceLimits, RunnerError, type RunOptions } from "@xfn/runner-contract";
import type { LimitCgroup } from "../cgroup/limit-cgroup.ts";
import { MAX_PROCESSES, processRlimit } from "../cgroup/process-rlimit.ts";
import type { PrepareRequest } from "../host/protocol.ts";
import { bundlePaths, networkFiles, sharedRootfs } from "../host/protocol.ts";
import type { OciRuntime } from "./crun.ts";
import { READ_ONLY_TMP_BYTES, WRITABLE_BYTES } from "./limits.ts";
import { runtimeSpec } from "./runtime-spec.ts";
import type { HostId } from "./sandbox-owner.ts";

/** The parts of an image that a sandbox needs. */
export type RunnableImage = Pick<Image, "name" | "digest" | "config" | "layers" | "overlay">;

/** What all sandboxes of a runner have in common. */
export interface SandboxSettings {
  owner: HostId | undefined;
  rootfs: "auto" | "overlay" | "copy";
  readOnlyRoot: boolean;
  runtime: Pick<OciRuntime, "path" | "family">;
}

/** The functions of an image with this label set to "false" are never pre-started. */
export const WARM_POOL_LABEL = "dev.xfn.warm-pool";

// More specs are not in use at once; a forgotten one is made again.
const MAX_SPECS = 256;

// Each spec keeps its process and the text of its configuration.
const MAX_SPEC_TEXT = 16 * 1024 * 1024;

// Linux accepts 2 MiB of arguments and environment by default (execve(2)).
const MAX_PROCESS_TEXT = 1024 * 1024;

/** The specs of one runner, each made once: making one takes longer than sending a message. */
export class SandboxSpecs {
  readonly #known = new Map<string, SandboxSpec>();
  #text = 0;

  /** The spec for a call. @throws ImageError if the image cannot be run */
  async of(image: RunnableImage, options: RunOptions, settings: SandboxSettings): Promise<SandboxSpec> {
    const { network = "Isolated", memoryBytes, cpus, pids } = options;
    // The digest covers the image's config and layers.
    const key = JSON.stringify([image.digest, network, memoryBytes, cpus, pids]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const process = await processConfig(image);
    const size = textOf(process);
    if (this.#known.size === MAX_SPECS || this.#text + size > MAX_SPEC_TEXT) {
      this.#known.clear();
      this.#text = 0;
    }
    const spec = new SandboxSpec(key, image, process, options, settings);
    this.#known.set(key, spec);
    this.#text += size;
    return spec;
  }
}

/**
 * Everything that a sandbox is made of. Calls with the same key can use each other's unused sandboxes.
 *
 * A spec lives long, so it keeps nothing else of its first call alive, such as credentials or an abort signal.
 */
export class SandboxSpec {
  readonly key: string;
  readonly digest: string;
  readonly runtime: Pick<OciRuntime, "path" | "family">;
  readonly limits: ResourceLimits;
  /** Whether its sandboxes may be started before their call. */
  readonly mayPreStart: boolean;
  /** Bound of its writable files, in bytes. */
  readonly writableBytes: number;
  readonly #process: ProcessConfig;
  readonly #network: "Isolated" | "Accessible";
  readonly #owner: HostId | undefined;
  readonly #layers: string[];
  readonly #rootfs: "auto" | "overlay" | "copy";
  readonly #shared: string | null;
  readonly #configs = new Map<number, string>();

  constructor(
    key: string,
    image: RunnableImage,
    process: ProcessConfig,
    options: RunOptions,
    settings: SandboxSettings,
  ) {
    const { network = "Isolated", memoryBytes, cpus, pids } = options;
    this.key = key;
    this.digest = image.digest;
    this.runtime = settings.runtime;
    this.limits = {
      ...(memoryBytes === undefined ? {} : { memoryBytes }),
      ...(cpus === undefined ? {} : { cpus }),
      ...(pids === undefined ? {} : { pids }),
    };
    // A pre-started function with network access could connect to others before its call.
    this.mayPreStart = network === "Isolated" && image.config.config?.Labels?.[WARM_POOL_LABEL] !== "false";
    this.#process = process;
    this.#network = network;
    this.#owner = settings.owner;
    this.#layers = [...image.layers];
    // A store on a file system without whiteouts has layers that only a copy shows correctly.
    this.#rootfs = image.overlay ? settings.rootfs : "copy";
    this.#shared = settings.readOnlyRoot ? sharedName(image.digest, network) : null;
    this.writableBytes = this.#shared === null ? WRITABLE_BYTES : READ_ONLY_TMP_BYTES;
  }

  /** The request that prepares a container. */
  container(id: string): Omit<PrepareRequest, "type" | "config"> {
    return {
      id,
      layers: [...this.#layers],
      rootfs: this.#rootfs,
      shared: this.#shared,
      networkFiles: this.#network === "Accessible",
      owner: this.#owner ?? null,
      writableBytes: this.writableBytes,
    };
  }

  /** The text of its config.json. */
  config(scratch: string, cgroup: LimitCgroup | undefined): string {
    const pids = processRlimit(this.limits.pids ?? MAX_PROCESSES, cgroup);
    const known = this.#configs.get(pids);
    if (known !== undefined) return known;
    const made = runtimeSpec(this.#process, {
      network: this.#network,
      runtime: this.runtime.family,
      // An ordinary user has id 0 in the sandbox host's namespace.
      owner: this.#owner ?? { uid: 0, gid: 0 },
      rootfs: this.#shared === null ? bundlePaths.rootfs : sharedRootfs(scratch, this.#shared),
      pids,
      networkFiles: networkFiles(scratch),
      ...(this.#shared === null ? {} : { readOnlyRoot: { tmp: bundlePaths.tmp } }),
    });
    this.#configs.set(pids, made);
    return made;
  }
}

/** Size of a process in its config.json, in bytes. @throws RunnerError `ImageInvalid` if it is too large */
function textOf(process: ProcessConfig): number {
  const bytes = Buffer.byteLength(JSON.stringify(process));
  if (bytes <= MAX_PROCESS_TEXT) return bytes;
  throw new RunnerError(
    "ImageInvalid",
    `its environment, arguments and working directory take ${bytes} bytes as JSON, and at most ${MAX_PROCESS_TEXT} are accepted; put the data into a file of the image`,
    { phase: "start", retryable: false },
  );
}

// The name of a directory.
function sharedName(digest: string, network: "Isolated" | "Accessible"): string {
  return `${digest.replace(":", "-")}-${network}`;
}
