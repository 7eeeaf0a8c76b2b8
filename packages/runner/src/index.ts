// @xfn/runner: runs each call of a function in one fresh rootless crun container.

export type {
  RunnerErrorCode,
  RunnerErrorDetails,
  RunnerPhase,
  RunOptions,
  ServedFunction,
  ServeOptions,
} from "@xfn/runner-contract";
export { DEFAULT_TIMEOUT_MS, MAX_PAYLOAD_BYTES, RunnerError } from "@xfn/runner-contract";
export { MAX_PROCESSES } from "./cgroup/process-rlimit.ts";
export { createRunner } from "./runner.ts";
export type { Runner, RunnerOptions } from "./runner-options.ts";
export { MAX_OPEN_FILES, READ_ONLY_TMP_BYTES, STDERR_TAIL_BYTES, WRITABLE_BYTES } from "./sandbox/limits.ts";
export { WARM_POOL_LABEL } from "./sandbox/sandbox-spec.ts";
export type { DiscardReason, WarmPoolLimits, WarmPoolPolicy } from "./warm-pool/limits.ts";
export { DEFAULT_WARM_POOL_LIMITS } from "./warm-pool/limits.ts";
export type { RunnerEvent } from "./warm-pool/runner-event.ts";

// --- for programs that open a store or inspect a host ---

export { cpuQuota } from "./cgroup/cpu-quota.ts";
export { chrootProblem } from "./chroot/chroot-problem.ts";
export type { RuntimeFamily } from "./host/runtime-family.ts";
export type { OciRuntime } from "./sandbox/crun.ts";
export { findRuntime, identifyRuntime, knownDefect, parseRuntimeVersion, VERSION_ARGUMENTS } from "./sandbox/crun.ts";
export type { ProcessConfig, SandboxOptions } from "./sandbox/runtime-spec.ts";
export { runtimeSpec } from "./sandbox/runtime-spec.ts";
export type { HostId } from "./sandbox/sandbox-owner.ts";
export { SANDBOX_HOST_ID, sandboxOwner } from "./sandbox/sandbox-owner.ts";
export type { SeccompRule, SeccompSection } from "./seccomp/seccomp.ts";
export { seccompProfile } from "./seccomp/seccomp.ts";
