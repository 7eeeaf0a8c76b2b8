import type { Check } from "./check.ts";
import type { ExecResult, Host } from "./host.ts";
import { installCommand } from "./package-manager.ts";

/** The namespaces of an ordinary user's runner, and those that the OCI runtime makes for a container of root. */
const WITH_USER = ["--user", "--map-root-user", "--mount", "--pid", "--fork"] as const;
/**
 * The namespaces of root's runner (`SandboxHost`). They require CAP_SYS_ADMIN, which root in a container usually lacks.
 */
const WITHOUT_USER = ["--mount", "--pid", "--fork", "--kill-child"] as const;

/**
 * Tries the namespaces of a container: user, mount and pid namespaces with a fresh /proc, as the runner of this user
 * makes them. There are two checks, because a surrounding container often allows namespaces but not a fresh /proc.
 */
export async function checkUserNamespaces(host: Host): Promise<readonly Check[]> {
  const namespaces = { id: "user-namespaces", title: "user namespaces" };
  const proc = { id: "fresh-proc", title: "fresh /proc" };
  const unshare = host.which("unshare");
  if (unshare === undefined) {
    const remedy = await installCommand(host, "util-linux");
    return [{ ...namespaces, status: "fail", detail: "the program `unshare` is not found on PATH", remedy }];
  }
  const inner = [unshare, ...WITH_USER];
  const probes =
    host.uid === 0
      ? [
          [unshare, ...WITHOUT_USER],
          [unshare, ...WITHOUT_USER, MOUNT_PROC, ...inner],
        ]
      : [inner];
  for (const probe of probes) {
    const withProc = await run(host, [...probe, MOUNT_PROC, "true"]);
    if (withProc.code === 0) continue;
    const without = await run(host, [...probe, "true"]);
    if (without.code !== 0) return [{ ...namespaces, status: "fail", ...(await whyNoNamespace(host, without)) }];
    return [
      { ...namespaces, status: "ok", detail: MADE },
      { ...proc, status: "fail", ...(await whyNoProc(host, withProc)) },
    ];
  }
  return [
    { ...namespaces, status: "ok", detail: MADE },
    { ...proc, status: "ok", detail: "can be mounted in a new pid namespace" },
  ];
}

const MOUNT_PROC = "--mount-proc";
const MADE = "user, mount and pid namespaces can be created";

function run(host: Host, [file = "", ...args]: readonly string[]): Promise<ExecResult> {
  return host.exec(file, args);
}

type Reason = Pick<Check, "detail" | "remedy">;

// A user namespace can mount procfs only if no part of the existing /proc is covered (user_namespaces(7)); container
// engines cover some files.
async function whyNoProc(host: Host, tried: ExecResult): Promise<Reason> {
  if (await isAppArmorRestricted(host)) return APPARMOR;
  return {
    detail: `mount of /proc refused (${reasonOf(tried)}): the surrounding container masks parts of /proc`,
    remedy:
      "run the surrounding container with `--security-opt systempaths=unconfined` (Docker, Podman: unmask=ALL) or securityContext.procMount: Unmasked (Kubernetes)",
  };
}

const APPARMOR: Reason = {
  detail: "AppArmor restricts user namespaces of ordinary programs (kernel.apparmor_restrict_unprivileged_userns=1)",
  remedy:
    "echo kernel.apparmor_restrict_unprivileged_userns=0 | sudo tee /etc/sysctl.d/60-userns.conf && sudo sysctl --system",
};

async function isAppArmorRestricted(host: Host): Promise<boolean> {
  return host.uid !== 0 && (await number(host, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns")) === 1;
}

async function whyNoNamespace(host: Host, tried: ExecResult): Promise<Reason> {
  if (await isGVisor(host)) {
    return {
      detail: "this is a gVisor sandbox, which cannot run rootless containers",
      remedy: "run on a node without gVisor (GKE: a Standard node pool without sandbox; Autopilot always uses it)",
    };
  }
  if (host.uid === 0 && !(await canAdminister(host))) {
    return {
      detail: `refused (${reasonOf(tried)}): this root lacks the capability CAP_SYS_ADMIN`,
      remedy:
        "run xfn as an ordinary user, which needs no capability, or add this one to the surrounding container: `--cap-add=SYS_ADMIN` (Docker, Podman), or securityContext.capabilities.add: [SYS_ADMIN] (Kubernetes)",
    };
  }
  if ((await number(host, "/proc/sys/user/max_user_namespaces")) === 0) {
    return {
      detail: "user namespaces are switched off (user.max_user_namespaces=0)",
      remedy: "echo user.max_user_namespaces=15000 | sudo tee /etc/sysctl.d/60-userns.conf && sudo sysctl --system",
    };
  }
  if (host.uid !== 0 && (await number(host, "/proc/sys/kernel/unprivileged_userns_clone")) === 0) {
    return {
      detail: "ordinary users may not create user namespaces (kernel.unprivileged_userns_clone=0)",
      remedy: "echo kernel.unprivileged_userns_clone=1 | sudo tee /etc/sysctl.d/60-userns.conf && sudo sysctl --system",
    };
  }
  if (await isAppArmorRestricted(host)) return APPARMOR;
  const refused = /operation not permitted|permission denied/i.test(tried.stderr);
  const status = (await host.read("/proc/self/status")) ?? "";
  if (refused && /^Seccomp:\s*2$/m.test(status)) {
    return {
      detail: `refused (${reasonOf(tried)}) by the seccomp filter of the container that xfn runs in`,
      remedy:
        "run the surrounding container with `--security-opt seccomp=unconfined --security-opt systempaths=unconfined` (Docker), or securityContext.seccompProfile.type: Unconfined and procMount: Unmasked (Kubernetes)",
    };
  }
  if ((await host.read("/proc/self/uid_map")) === undefined || /invalid argument/i.test(tried.stderr)) {
    return {
      detail: `the kernel has no user namespaces (${reasonOf(tried)})`,
      remedy: "boot a kernel with CONFIG_USER_NS=y",
    };
  }
  return {
    detail: `refused: ${reasonOf(tried)}`,
    remedy: "look for the denial in the kernel log: `sudo dmesg | tail`, `sudo journalctl -k | tail`",
  };
}

const CAP_SYS_ADMIN = 21n; // <linux/capability.h>

async function canAdminister(host: Host): Promise<boolean> {
  const [, effective] = /^CapEff:\s*([0-9a-f]+)$/m.exec((await host.read("/proc/self/status")) ?? "") ?? [];
  // Without this line the cause is another one.
  return effective === undefined || ((BigInt(`0x${effective}`) >> CAP_SYS_ADMIN) & 1n) === 1n;
}

// gVisor always reports this kernel and build date.
const GVISOR_VERSION = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016";

async function isGVisor(host: Host): Promise<boolean> {
  const version = (await host.read("/proc/version")) ?? "";
  if (version.startsWith(GVISOR_VERSION) || /gvisor/i.test(version)) return true;
  const dmesg = host.which("dmesg");
  return dmesg !== undefined && /Starting gVisor/i.test((await host.exec(dmesg, [])).stdout);
}

async function number(host: Host, path: string): Promise<number | undefined> {
  const text = (await host.read(path))?.trim();
  return text === undefined || text === "" ? undefined : Number(text);
}

function reasonOf(result: ExecResult): string {
  return result.stderr.trim() || (result.code === undefined ? "no answer in time" : `exit code ${result.code}`);
}
