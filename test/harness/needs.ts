import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { builtBinaries, explainMissing, findBinaries } from "@xfn/dev-cluster";
import { hasKernel, KERNEL_DIRECTORY } from "../cgroup-v2/kernel.ts";
import { buildGoModules, buildGoProgram, buildHelm, buildKrew } from "./go-program.ts";
import { CHECKOUT, ORDINARY_USER, XFN_MAIN } from "./paths.ts";
import { promtool } from "./promtool.ts";
import { pythonPackages, typescriptPackages } from "./sdk-packages.ts";
import { browserProgram, pythonWithGrpc, which } from "./which.ts";

/** A requirement that a machine may not meet. */
export type Need =
  /** A headless browser: see browser.ts. */
  | "chromium"
  /** A program on the PATH. */
  | "crun"
  /** A static one. */
  | "busybox"
  | "docker-registry"
  | "go"
  | "openssl"
  /** Go in a new enough version, and a proxy or cache with the modules of test/interop/go, which it compiles. */
  | "go-modules"
  /** The same for programs of test/functions, with the official Go SDK of functions or kustomize's library. */
  | "go-functions"
  | "krm-functions"
  | "gitops-health"
  | "kstatus"
  /** Installed, or in Debian's package of Prometheus. */
  | "promtool"
  | "helm"
  | "krew"
  /** The packages of the official SDKs, which it installs. */
  | "python-sdk"
  | "typescript-sdk"
  /** Rust with the standard library of wasm32-wasip1. */
  | "rust-wasm"
  | "python3"
  | "runc"
  /** gVisor. */
  | "runsc"
  /** Python's gRPC: grpcio. */
  | "python-grpc"
  | "skopeo"
  | "umoci"
  | "zsh"
  | "fish"
  /** etcd, kube-apiserver, kube-controller-manager and kubectl: see api-server.ts. */
  | "api-server"
  /** The tests run as root. */
  | "root"
  /** The tests run as an ordinary user, or run as root and can run xfn as an ordinary user. */
  | "ordinary-user"
  /** A cgroup in which the current user can set limits. */
  | "cgroup-limits"
  /** A virtual machine that a test can boot: see test/cgroup-v2. */
  | "virtual-machine";

/** Options for `describe` or `test` that skip it, with the reason, if a requirement is not met. */
export interface NeedOptions {
  skip: boolean;
  meta: { missing?: string };
}

declare module "vitest" {
  interface TaskMeta {
    /** Why the test was skipped. `scripts/test-report.ts` prints it. */
    missing?: string;
  }
}

/**
 * Declares the requirements of a test: `describe("pull", needs("docker-registry"), () => {...})`. Hooks of a skipped
 * suite do not run. CI fails on a skipped test that test/host-skips does not list.
 */
export function needs(...things: Need[]): NeedOptions {
  const missing = things.flatMap((thing) => lackOf(thing) ?? []);
  return missing.length === 0 ? { skip: false, meta: {} } : { skip: true, meta: { missing: missing.join("; ") } };
}

const known = new Map<Need, string | undefined>();

// Returns the reason why a requirement is not met, or undefined. Each worker looks once: the machine does not change
// meanwhile.
function lackOf(thing: Need): string | undefined {
  if (!known.has(thing)) known.set(thing, lookUp(thing));
  return known.get(thing);
}

function lookUp(thing: Need): string | undefined {
  switch (thing) {
    case "root":
      return process.getuid?.() === 0 ? undefined : "needs root";
    case "ordinary-user":
      return lackOfOrdinaryUser();
    case "cgroup-limits":
      return lackOfCgroupLimits();
    case "virtual-machine":
      return lackOfVirtualMachine();
    case "python3":
      return lackOfPython();
    case "python-grpc":
      return pythonWithGrpc() === undefined ? "python3 has no grpc" : undefined;
    case "go-modules":
      return lackOfGo(() => buildGoModules("test/interop/go"));
    case "go-functions":
      return lackOfGo(() => buildGoProgram("go-greeting"));
    case "krm-functions":
      return lackOfGo(() => buildGoProgram("krm-labels"));
    case "helm":
      return lackOfGo(buildHelm);
    case "krew":
      return lackOfGo(buildKrew);
    case "gitops-health":
    case "kstatus":
      return lackOfGo(() => buildGoProgram(thing));
    case "promtool":
      return failureOf(promtool);
    case "python-sdk":
      return lackOfPython() ?? failureOf(pythonPackages);
    case "typescript-sdk":
      return failureOf(typescriptPackages);
    case "api-server":
      return lackOfApiServer();
    case "rust-wasm":
      return lackOfRust("wasm32-wasip1");
    case "chromium":
      return browserProgram() === undefined ? "chromium is not installed" : undefined;
    default:
      return which(thing) !== undefined ? undefined : `${thing} is not installed`;
  }
}

// scripts/test.sh may be building them. A test that needs them waits for the end of the build, without a limit: the
// build takes some five minutes on two idle cores, and has taken 35 while tests ran.
function lackOfApiServer(): string | undefined {
  const lock = join(dirname(builtBinaries()), "lock");
  if (findBinaries().missing !== undefined && existsSync(lock)) spawnSync("flock", [lock, "true"]);
  const { missing } = findBinaries();
  return missing === undefined ? undefined : explainMissing(missing);
}

// rustc prints the folder of the target's standard library, whether it exists or not.
function lackOfRust(target: string): string | undefined {
  const rustc = which("rustc");
  if (rustc === undefined || which("cargo") === undefined) return "Rust is not installed";
  const { stdout } = spawnSync(rustc, ["--print", "target-libdir", "--target", target], {
    encoding: "utf8",
    timeout: 10_000,
  });
  const folder = stdout.trim();
  return folder !== "" && existsSync(folder) ? undefined : `Rust has no target ${target}`;
}

// A version manager's shim is on the PATH even if no version is installed.
function lackOfPython(): string | undefined {
  return spawnSync("python3", ["-c", ""], { timeout: 10_000 }).status === 0 ? undefined : "python3 is not installed";
}

/** Runs what prepares a test, as long as it takes. @returns why it failed */
function failureOf(prepare: () => unknown): string | undefined {
  try {
    prepare();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function lackOfGo(build: () => unknown): string | undefined {
  return which("go") === undefined ? "go is not installed" : failureOf(build);
}

// The other user must be able to read the checkout and start this Node.
function lackOfOrdinaryUser(): string | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (which("setpriv") === undefined) return "setpriv is not installed";
  if (!existsSync(XFN_MAIN)) return `${XFN_MAIN} is not built`;
  const { status } = spawnSync("setpriv", [...ORDINARY_USER, process.execPath, "--check", XFN_MAIN], {
    timeout: 10_000,
  });
  return status === 0 ? undefined : `an ordinary user cannot read ${CHECKOUT} or run ${process.execPath}`;
}

// Root can create groups anywhere. For other users the group of the tests must be delegated with its controllers, which
// is rare outside systemd's user sessions.
function lackOfCgroupLimits(): string | undefined {
  const own = readFileSync("/proc/self/cgroup", "utf8").match(/^0::(.*)$/m)?.[1] ?? "";
  const folders = existsSync("/sys/fs/cgroup/cgroup.controllers")
    ? [join("/sys/fs/cgroup", own)]
    : ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpu"];
  return folders.every((folder) => isWritable(folder)) ? undefined : `${folders.join(", ")} is not ours to divide`;
}

// An emulated machine of this machine's architecture, with this machine's files.
function lackOfVirtualMachine(): string | undefined {
  if (process.arch !== "x64") return `a virtual machine of ${process.arch} has not been tried`;
  const missing = ["qemu-system-x86_64", "busybox", "cpio"].filter((program) => which(program) === undefined);
  if (missing.length > 0) return `${missing.join(", ")} not installed`;
  return hasKernel() ? undefined : `no kernel in ${KERNEL_DIRECTORY}`;
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
