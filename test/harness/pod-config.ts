import { type JsonObject, objectAt } from "@xfn/json";
import { expect } from "vitest";

/** The first host id of a pod's user namespace. */
export const HOST_ID = 400_000;

// The paths that container runtimes mask in /proc with procMount Default.
const MASKED = ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/scsi"];
const READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/** A mount of a host's file or folder. */
export interface Bind {
  readonly source: string;
  readonly destination: string;
}

/** The OCI configuration for a security context (Kubernetes, "Configure a Security Context"). */
export function podConfig(options: {
  args: readonly string[];
  env: readonly string[];
  user: number;
  security: JsonObject;
  readOnly: readonly Bind[];
  writable: readonly Bind[];
}): unknown {
  const { args, env, user, security } = options;
  // The default profiles of runtimes block the necessary system calls.
  for (const profile of ["seccompProfile", "appArmorProfile"])
    expect(objectAt(security, profile)["type"]).toBe("Unconfined");
  expect(objectAt(security, "capabilities")).toEqual({ drop: ["ALL"] });
  const hidden = security["procMount"] !== "Unmasked";
  const mapping = [{ containerID: 0, hostID: HOST_ID, size: 65_536 }];
  const bind = (access: "ro" | "rw") => (mount: Bind) => ({ ...mount, type: "bind", options: ["rbind", access] });
  const none: string[] = [];
  return {
    ociVersion: "1.0.2",
    process: {
      user: { uid: user, gid: user },
      args,
      env,
      cwd: "/",
      noNewPrivileges: security["allowPrivilegeEscalation"] === false,
      capabilities: { bounding: none, effective: none, permitted: none, inheritable: none, ambient: none },
    },
    root: { path: "rootfs" },
    mounts: [
      { destination: "/proc", type: "proc", source: "proc" },
      { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755"] },
      { destination: "/dev/shm", type: "tmpfs", source: "shm", options: ["nosuid", "nodev", "mode=1777"] },
      { destination: "/sys", type: "sysfs", source: "sysfs", options: ["nosuid", "noexec", "nodev", "ro"] },
      // The checkout or Node may be in /tmp, which is a volume.
      ...options.writable.map(bind("rw")),
      ...options.readOnly.map(bind("ro")),
    ],
    linux: {
      namespaces: ["pid", "ipc", "uts", "mount", "network", "user"].map((type) => ({ type })),
      uidMappings: mapping,
      gidMappings: mapping,
      maskedPaths: hidden ? MASKED : none,
      readonlyPaths: hidden ? READ_ONLY : none,
    },
  };
}
