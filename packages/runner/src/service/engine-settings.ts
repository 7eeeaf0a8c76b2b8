import { availableParallelism, totalmem } from "node:os";
import process from "node:process";
import {
  CONTAINER_SETTINGS,
  type ContainerSettings,
  cpu,
  duration,
  durationWithin,
  group,
  integer,
  memory,
  one,
  optional,
  outputSetting,
  REGISTRY_ACCESS_SETTINGS,
  type RegistryAccessSettings,
  type SettingsOf,
  STORE_SETTINGS,
  type StoreSettings,
  settings,
  texts,
  toggle,
} from "@xfn/program/settings";
import { DEFAULT_OUTPUT_BYTES, MAX_PAYLOAD_BYTES, MAX_TIMEOUT_MS } from "@xfn/runner-contract";
import { MAX_PROCESSES } from "../cgroup/process-rlimit.ts";

/** Settings of a runner, independent of the location of its callers. */
export interface EngineConfig extends StoreSettings, RegistryAccessSettings, ContainerSettings {
  readonly maxConcurrent: number;
  readonly maxQueued: number;
  /** In milliseconds. */
  readonly maxTimeout: number;
  /** In milliseconds. */
  readonly startTimeout: number;
  /** In bytes. */
  readonly maxMemory: number | undefined;
  /** In cores. */
  readonly maxCpu: number | undefined;
  /**
   * Undefined: the runner's own limit, as far as the host can enforce it. A number is enforced, or the call is
   * rejected.
   */
  readonly maxPids: number | undefined;
  /** In bytes. */
  readonly maxOutput: number;
  /** The limit of calls that do not set one; default: the maximum. */
  readonly defaultMemory: number | undefined;
  readonly defaultCpu: number | undefined;
  readonly allowImage: readonly string[];
  readonly allowOciLayouts: boolean;
  /** Refuses images without a module. */
  readonly wasmOnly: boolean;
  readonly warmPool: "off" | "adaptive" | number;
  readonly warmPoolCount: number | undefined;
  readonly warmPoolMemory: number | undefined;
  readonly warmPoolIdle: number | undefined;
  /** Whether each call of a function that is a server gets its own server. */
  readonly freshFunctions: boolean;
  /** In milliseconds. */
  readonly idle: number | undefined;
  readonly maxServers: number | undefined;
  /** In bytes. */
  readonly serversMemory: number | undefined;
  readonly readOnlyRoot: boolean;
  /** In bytes. */
  readonly cacheQuota: number | undefined;
}

// A larger value is probably a unit mistake; no deployment benefits from a queue this long.
const MANY = 100_000;

// More functions are seldom in use at once, and each takes some 40 MB.
const DEFAULT_MAX_SERVERS = 64;

/** `--max-servers`, or its default. */
export function maxServersOf({ maxServers, maxConcurrent }: EngineConfig): number {
  return maxServers ?? Math.max(DEFAULT_MAX_SERVERS, maxConcurrent);
}

/** The default of `--servers-memory`: the rest is for calls and for the runner itself. */
export function defaultServersMemory(): number {
  return Math.floor(Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / 2);
}

/** The flags, variables, defaults and parsers. */
export const ENGINE_SETTINGS: SettingsOf<EngineConfig> = settings({
  ...group("What a call may have", {
    maxConcurrent: one("<n>", "runs at a time", integer(1, MANY), String(availableParallelism()), {
      shown: "the number of CPUs",
    }),
    maxQueued: one("<n>", "calls that may wait for a run; over it RESOURCE_EXHAUSTED", integer(0, MANY), "64"),
    maxTimeout: one(
      "<duration>",
      "the longest timeout that a call may ask for",
      durationWithin(duration, { most: MAX_TIMEOUT_MS }),
      // Long enough for functions, and short enough that one caller cannot occupy a slot for a day.
      "5m",
    ),
    startTimeout: one(
      "<duration>",
      "the longest time to pull a call's image and start its container",
      duration,
      // Long enough for a large image, and short enough that a slow registry cannot occupy all slots.
      "5m",
    ),
    maxMemory: optional("<quantity>", "the most memory that a call may ask for", memory),
    maxCpu: optional("<quantity>", "the most cpu that a call may ask for", cpu),
    maxPids: optional("<n>", "processes and threads of one function", integer(1, MANY), {
      shown: `${MAX_PROCESSES}, where the host can count them`,
    }),
    maxOutput: outputSetting(DEFAULT_OUTPUT_BYTES, MAX_PAYLOAD_BYTES),
    defaultMemory: optional("<quantity>", "memory of a call that asks for no limit; else --max-memory", memory),
    defaultCpu: optional("<quantity>", "cpu of a call that asks for no limit; else --max-cpu", cpu),
    allowImage: texts("<pattern>", "images that may be run, such as registry.example.org/team or ghcr.io/*/fn-*", {
      shown: "all",
    }),
    allowOciLayouts: toggle("take oci:DIR images from callers on other than path sockets too"),
    wasmOnly: toggle("run functions of type: Wasm alone, and be ready without namespaces and crun"),
    allowUnlimited: CONTAINER_SETTINGS.allowUnlimited,
  }),
  ...group("How it is run", {
    warmPool: one(
      "<policy>",
      "sandboxes started before their call: off, adaptive, or a number per image",
      warmPool,
      "adaptive",
    ),
    warmPoolCount: optional("<n>", "such sandboxes in all", integer(1, MANY)),
    warmPoolMemory: optional("<quantity>", "memory of such sandboxes in all", memory),
    warmPoolIdle: optional("<duration>", "how long such a sandbox waits for a call", duration),
    freshFunctions: toggle("run each call of a function that is a server in a new sandbox"),
    idle: optional("<duration>", "how long a function's server waits for the next call", duration, { shown: "5m" }),
    maxServers: optional("<n>", "servers of functions at a time", integer(1, MANY), {
      shown: `${DEFAULT_MAX_SERVERS}, or --max-concurrent if that is more`,
    }),
    serversMemory: optional("<quantity>", "memory of all servers without a memory limit together", memory, {
      shown: "half of the memory, where the host can enforce it",
    }),
    readOnlyRoot: toggle("root filesystems are read-only and shared; /tmp is writable and small"),
    rootfs: CONTAINER_SETTINGS.rootfs,
    ociRuntime: CONTAINER_SETTINGS.ociRuntime,
    cacheDir: STORE_SETTINGS.cacheDir,
    cacheQuota: optional("<quantity>", "the disk space of images; the least recently used go first", memory),
    registry: STORE_SETTINGS.registry,
    insecureRegistry: STORE_SETTINGS.insecureRegistry,
    ...REGISTRY_ACCESS_SETTINGS,
  }),
});

function warmPool(text: string): EngineConfig["warmPool"] {
  if (text === "off" || text === "adaptive") return text;
  // More sandboxes per image would cost more memory than the saved start time is worth.
  const most = 64;
  const number = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (number === 0) return "off";
  if (!(number <= most)) throw new Error(`${JSON.stringify(text)} must be off, adaptive, or a number up to ${most}`);
  return number;
}
