import type { Image, ProcessConfig } from "@xfn/oci-rootfs";
import { processConfig } from "@xfn/oci-rootfs";
import { type ResourceLimits, RunnerError, type RunOptions } from "@xfn/runner-contract";
import { dataRlimit } from "../cgroup/data-rlimit.ts";
import type { LimitCgroup } from "../cgroup/limit-cgroup.ts";
import { MAX_PROCESSES, processRlimit } from "../cgroup/process-rlimit.ts";
import type { PrepareRequest } from "../host/protocol.ts";
import { bundlePaths, networkFiles, sharedRootfs } from "../host/protocol.ts";
import type { OciRuntime } from "./crun.ts";
import { READ_ONLY_TMP_BYTES, WRITABLE_BYTES } from "./limits.ts";
import { runtimeSpec } from "./runtime-spec.ts";
import type { HostId } from "./sandbox-owner.ts";

/** The parts of an image that a sandbox needs. */
export type RunnableImage = Pick<Image, "name" | "digest" | "config" | "layers" | "overlay" | "fifos">;

/** The settings that all sandboxes of a runner share. */
export interface SandboxSettings {
  owner: HostId | undefined;
  rootfs: "auto" | "overlay" | "copy";
  readOnlyRoot: boolean;
  runtime: Pick<OciRuntime, "path" | "family">;
}

/** The differences between a server's process and that of its image. */
export interface ServerProcess {
  /** Replaces the image's command; the entrypoint stays. */
  arguments: readonly string[];
  /** Replaces variables of the image. */
  env: Readonly<Record<string, string>>;
}

/** The options that a spec depends on, in addition to the image. */
export type SpecOptions = Pick<RunOptions, "network" | "memoryBytes" | "cpus" | "pids">;

/** The functions of an image with this label set to "false" are never pre-started. */
export const WARM_POOL_LABEL = "dev.xfn.warm-pool";

// At most this many specs are in use at once in practice. A forgotten spec is created again.
const MAX_SPECS = 256;

// Each spec retains its process and the text of its configuration.
const MAX_SPEC_TEXT = 16 * 1024 * 1024;

// Linux accepts 2 MiB of arguments and environment by default (execve(2)).
const MAX_PROCESS_TEXT = 1024 * 1024;

/** The specs of one runner. Each is created once, because that takes longer than sending a message. */
export class SandboxSpecs {
  readonly #known = new Map<string, SandboxSpec>();
  #text = 0;

  /**
   * Returns the spec for a call, or for a server.
   *
   * @throws ImageError if the image cannot be run
   * @throws RunnerError `ImageInvalid`
   */
  async of(
    image: RunnableImage,
    options: SpecOptions,
    settings: SandboxSettings,
    server?: ServerProcess,
  ): Promise<SandboxSpec> {
    const { network = "Isolated", memoryBytes, cpus, pids } = options;
    // The digest covers the image's config and layers.
    const key = JSON.stringify([image.digest, network, memoryBytes, cpus, pids, ...keyOf(server)]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const process = server === undefined ? await processConfig(image) : await serverProcess(image, server);
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
 * All inputs of a sandbox. Calls with the same key can use each other's unused sandboxes.
 *
 * A spec lives long, so it does not keep other parts of its first call alive, such as credentials or an abort signal.
 */
export class SandboxSpec {
  readonly key: string;
  readonly digest: string;
  readonly runtime: Pick<OciRuntime, "path" | "family">;
  readonly limits: ResourceLimits;
  /** Whether its sandboxes may be started before their call. */
  readonly mayPreStart: boolean;
  /** The largest size of its writable files, in bytes. */
  readonly writableBytes: number;
  readonly #process: ProcessConfig;
  readonly #container: Omit<PrepareRequest, "type" | "config" | "id">;
  readonly #configs = new Map<number, string>();

  constructor(
    key: string,
    image: RunnableImage,
    process: ProcessConfig,
    options: SpecOptions,
    settings: SandboxSettings,
  ) {
    const { network = "Isolated", memoryBytes, cpus, pids } = options;
    this.key = key;
    this.digest = image.digest;
    this.runtime = settings.runtime;
    this.limits = { memoryBytes, cpus, pids };
    // A pre-started function with network access could connect to others before its call.
    this.mayPreStart = network === "Isolated" && image.config.config?.Labels?.[WARM_POOL_LABEL] !== "false";
    this.writableBytes = settings.readOnlyRoot ? READ_ONLY_TMP_BYTES : WRITABLE_BYTES;
    this.#process = process;
    this.#container = {
      layers: [...image.layers],
      // If the store's file system does not support whiteouts, only a copy shows its layers correctly.
      rootfs: image.overlay ? settings.rootfs : "copy",
      readOnly: settings.readOnlyRoot,
      // A FIFO of a shared root filesystem would be one pipe for all calls, even if it is read-only.
      shared: settings.readOnlyRoot && !image.fifos ? sharedName(image.digest, network) : null,
      networkFiles: network === "Accessible",
      owner: settings.owner ?? null,
      writableBytes: this.writableBytes,
    };
  }

  /** Whether its sandboxes have their own network namespaces. */
  get isolated(): boolean {
    return !this.#container.networkFiles;
  }

  /** The request that prepares a container. */
  container(id: string): Omit<PrepareRequest, "type" | "config"> {
    return { id, ...this.#container };
  }

  /** The text of its config.json. */
  config(scratch: string, cgroup: LimitCgroup | undefined): string {
    const pids = processRlimit(this.limits.pids ?? MAX_PROCESSES, cgroup);
    // Without a cgroup (--allow-unlimited) nothing else limits the memory, whether or not the call has a limit.
    const isBounded = cgroup !== undefined && this.limits.memoryBytes !== undefined;
    const key = isBounded ? pids : -pids;
    const known = this.#configs.get(key);
    if (known !== undefined) return known;
    const { owner, shared, readOnly } = this.#container;
    const made = runtimeSpec(this.#process, {
      network: this.isolated ? "Isolated" : "Accessible",
      runtime: this.runtime.family,
      // An ordinary user has id 0 in the sandbox host's namespace.
      owner: owner ?? { uid: 0, gid: 0 },
      rootfs: shared === null ? bundlePaths.rootfs : sharedRootfs(scratch, shared),
      pids,
      dataBytes: isBounded ? undefined : dataRlimit(),
      networkFiles: networkFiles(scratch),
      dev: bundlePaths.dev,
      ...(readOnly ? { readOnlyRoot: { tmp: bundlePaths.tmp } } : {}),
    });
    this.#configs.set(key, made);
    return made;
  }
}

function keyOf(server: ServerProcess | undefined): unknown[] {
  if (server === undefined) return [];
  const env = Object.entries(server.env).sort(([a], [b]) => (a < b ? -1 : 1));
  return [server.arguments, env];
}

/** The image's entrypoint with the arguments and environment of a server. */
async function serverProcess(image: RunnableImage, server: ServerProcess): Promise<ProcessConfig> {
  const entrypoint = image.config.config?.Entrypoint ?? [];
  if (entrypoint.length === 0)
    throw new RunnerError(
      "ImageInvalid",
      "its image has no entrypoint, so it is not a function that serves gRPC: packages of functions have one",
      { phase: "start", retryable: false },
    );
  const process = await processConfig(image);
  const replaced = new Set(Object.keys(server.env));
  const env = process.env.filter((variable) => !replaced.has(variable.split("=", 1)[0] ?? ""));
  return {
    ...process,
    args: [...entrypoint, ...server.arguments],
    env: [...env, ...Object.entries(server.env).map(([name, value]) => `${name}=${value}`)],
  };
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

// Returns a valid directory name.
function sharedName(digest: string, network: "Isolated" | "Accessible"): string {
  return `${digest.replace(":", "-")}-${network}`;
}
