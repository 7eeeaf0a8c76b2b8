// @xfn/runner: one call of a function = one fresh rootless crun container (design section 4, seed 000).

export type { DiscardReason, StartEarly, StartEarlyLimits } from "./early/limits.ts";
export { DEFAULT_START_EARLY_LIMITS } from "./early/limits.ts";
export { START_EARLY_LABEL } from "./recipe.ts";
export type { RunOptions } from "./run-options.ts";
export {
  DEFAULT_TIMEOUT_MS,
  MAX_OPEN_FILES,
  MAX_OUTPUT_BYTES,
  MAX_PROCESSES,
  READ_ONLY_TMP_BYTES,
  STDERR_TAIL_BYTES,
  WRITABLE_BYTES,
} from "./run-options.ts";
export type { Runner, RunnerOptions } from "./runner.ts";
export { createRunner } from "./runner.ts";
export type { RunnerErrorCode, RunnerErrorDetails, RunnerPhase } from "./runner-error.ts";
export { RunnerError } from "./runner-error.ts";
export type { RunnerEvent } from "./runner-event.ts";

// --- for programs that open a store or look at a host ---

export { cpuQuota } from "./cgroups-cpu-quota.ts";
export type { OciRuntime } from "./crun.ts";
export { findRuntime, identifyRuntime, knownDefect, VERSION_ARGUMENTS } from "./crun.ts";
export type { RuntimeFamily } from "./host/runtime-command.ts";
export type { ProcessConfig, SandboxOptions } from "./runtime-spec.ts";
export { runtimeSpec } from "./runtime-spec.ts";
export type { HostId } from "./sandbox-owner.ts";
export { SANDBOX_HOST_ID, sandboxOwner } from "./sandbox-owner.ts";
export type { SeccompRule, SeccompSection } from "./seccomp.ts";
export { seccompProfile } from "./seccomp.ts";
