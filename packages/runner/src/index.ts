// @xfn/runner: one call of a function = one fresh rootless crun container (design section 4, seed 000).

export type { RunOptions } from "./contract/run-options.ts";
export {
  DEFAULT_TIMEOUT_MS,
  MAX_OPEN_FILES,
  MAX_OUTPUT_BYTES,
  MAX_PROCESSES,
  READ_ONLY_TMP_BYTES,
  STDERR_TAIL_BYTES,
  WRITABLE_BYTES,
} from "./contract/run-options.ts";
export type { RunnerErrorCode, RunnerErrorDetails, RunnerPhase } from "./contract/runner-error.ts";
export { RunnerError } from "./contract/runner-error.ts";
export type { RunnerEvent } from "./contract/runner-event.ts";
export type { DiscardReason, StartEarly, StartEarlyLimits } from "./contract/warm-pool-limits.ts";
export { DEFAULT_START_EARLY_LIMITS } from "./contract/warm-pool-limits.ts";
export type { Runner, RunnerOptions } from "./runner.ts";
export { createRunner } from "./runner.ts";
export { START_EARLY_LABEL } from "./sandbox/sandbox-spec.ts";

// --- for programs that open a store or look at a host ---

export { cpuQuota } from "./cgroup/cpu-quota.ts";
export type { RuntimeFamily } from "./host/runtime-command.ts";
export type { OciRuntime } from "./sandbox/crun.ts";
export { findRuntime, identifyRuntime, knownDefect, VERSION_ARGUMENTS } from "./sandbox/crun.ts";
export type { ProcessConfig, SandboxOptions } from "./sandbox/runtime-spec.ts";
export { runtimeSpec } from "./sandbox/runtime-spec.ts";
export type { HostId } from "./sandbox/sandbox-owner.ts";
export { SANDBOX_HOST_ID, sandboxOwner } from "./sandbox/sandbox-owner.ts";
export type { SeccompRule, SeccompSection } from "./seccomp/seccomp.ts";
export { seccompProfile } from "./seccomp/seccomp.ts";
