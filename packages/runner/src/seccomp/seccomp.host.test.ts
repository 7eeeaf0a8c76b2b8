import { expect, test } from "vitest";
import { seccompFields, seccompProfile } from "./seccomp.ts";

test("crun gets a compiled filter, and a profile that denies everything if it ignores the filter", () => {
  const { seccomp, annotations } = seccompFields("crun");
  expect(Object.keys(annotations)).toEqual(["run.oci.seccomp_bpf_data"]);
  expect(Buffer.from(Object.values(annotations)[0] ?? "", "base64").length % 8).toBe(0);
  expect(seccomp).toEqual({ defaultAction: "SCMP_ACT_KILL_PROCESS", syscalls: [] });
});

test("gVisor refuses calls that no function needs, and decides about the others itself", () => {
  const { seccomp } = seccompFields("runsc");
  expect(seccomp.defaultAction).toBe("SCMP_ACT_ALLOW");
  const [rule, ...others] = seccomp.syscalls;
  expect(others).toEqual([]);
  expect(rule).toMatchObject({ action: "SCMP_ACT_ERRNO" });
  expect(rule?.names).toEqual(expect.arrayContaining(["mount", "ptrace", "unshare"]));
});

test.each(["runc", "other"] as const)("%s gets the profile of the specification without extensions", (family) => {
  expect(seccompFields(family)).toEqual({ seccomp: seccompProfile, annotations: {} });
});

test("denies every call that is not allowed", () => {
  expect(seccompProfile.defaultAction).toBe("SCMP_ACT_ERRNO");
  const unconditional = seccompProfile.syscalls.filter(({ action, args }) => action === "SCMP_ACT_ALLOW" && !args);
  const allowed = new Set(unconditional.flatMap(({ names }) => names));
  for (const name of ["clone", "clone3", "socket", "mount", "setns", "unshare", "ptrace", "keyctl", "io_uring_setup"])
    expect(allowed.has(name)).toBe(false);
});
