import type { RuntimeFamily } from "../host/runtime-family.ts";
import { seccompBytes } from "./bpf.ts";
import type { Condition } from "./policy.ts";
import { allowedCalls, conditionalCalls, DENIED_CALL_ERRNO, deniedCalls, UNKNOWN_CALL_ERRNO } from "./policy.ts";

export interface SeccompRule {
  names: readonly string[];
  action: "SCMP_ACT_ALLOW" | "SCMP_ACT_ERRNO";
  errnoRet?: number;
  args?: { index: number; value: number; valueTwo?: number; op: "SCMP_CMP_EQ" | "SCMP_CMP_MASKED_EQ" }[];
}

/**
 * `linux.seccomp` of the runtime specification
 * (https://github.com/opencontainers/runtime-spec/blob/main/config-linux.md#seccomp).
 */
export interface SeccompSection {
  defaultAction: "SCMP_ACT_ERRNO" | "SCMP_ACT_ALLOW";
  /** The error number for `SCMP_ACT_ERRNO`. */
  defaultErrnoRet?: number;
  syscalls: SeccompRule[];
}

/**
 * The system calls that a function may make (docs/concepts/security-model.md), for any OCI runtime. It lists no
 * architecture: only the machine's own is allowed, and calls of others kill the process.
 */
export const seccompProfile: SeccompSection = {
  defaultAction: "SCMP_ACT_ERRNO",
  defaultErrnoRet: UNKNOWN_CALL_ERRNO,
  syscalls: [
    { names: allowedCalls, action: "SCMP_ACT_ALLOW" },
    { names: deniedCalls, action: "SCMP_ACT_ERRNO", errnoRet: DENIED_CALL_ERRNO },
    ...conditionalCalls.flatMap(({ name, cases }): SeccompRule[] =>
      cases.map((all) => ({ names: [name], action: "SCMP_ACT_ALLOW", args: all.map(argument) })),
    ),
  ],
};

function argument(condition: Condition): NonNullable<SeccompRule["args"]>[number] {
  return "equals" in condition
    ? { index: condition.argument, value: condition.equals, op: "SCMP_CMP_EQ" }
    : { index: condition.argument, value: condition.without, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" };
}

// System calls of a function reach gVisor's kernel, and not the machine's. gVisor of 2022 answers every rejected call
// with EPERM. A profile of allowed calls would then keep libraries from trying another call, and no thread could start.
const gvisorProfile: SeccompSection = {
  defaultAction: "SCMP_ACT_ALLOW",
  syscalls: [{ names: deniedCalls, action: "SCMP_ACT_ERRNO", errnoRet: DENIED_CALL_ERRNO }],
};

/** The fields of a runtime configuration that apply the profile. */
export interface SeccompFields {
  seccomp: SeccompSection | { defaultAction: "SCMP_ACT_KILL_PROCESS"; syscalls: never[] };
  annotations: Record<string, string>;
}

const sectionAlone: SeccompFields = { seccomp: seccompProfile, annotations: {} };
// crun accepts a compiled filter in place of linux.seccomp. Otherwise it would compile the profile for each
// container, which takes a third of its time. A crun that ignores the annotation finds a profile that allows nothing,
// so functions fail to start instead of starting without a profile.
function withProgram(program: Buffer | undefined): SeccompFields {
  if (program === undefined) return sectionAlone;
  return {
    seccomp: { defaultAction: "SCMP_ACT_KILL_PROCESS", syscalls: [] },
    annotations: { "run.oci.seccomp_bpf_data": program.toString("base64") },
  };
}

const readyForKernel = withProgram(seccompBytes());

/** The fields that apply {@link seccompProfile} with a runtime of this family. */
export function seccompFields(runtime: RuntimeFamily): SeccompFields {
  if (runtime === "runsc") return { seccomp: gvisorProfile, annotations: {} };
  return runtime === "crun" ? readyForKernel : sectionAlone;
}
