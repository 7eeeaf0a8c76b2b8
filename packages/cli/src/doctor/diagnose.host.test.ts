import { describe, expect, test } from "vitest";
import { parseCgroups } from "./cgroups.ts";
import type { Check } from "./check.ts";
import { diagnose } from "./diagnose.ts";
import type { ExecResult, Host } from "./host.ts";

const ok: ExecResult = { code: 0, stdout: "", stderr: "" };
const failed = (stderr: string): ExecResult => ({ code: 1, stdout: "", stderr });

/** A host on which everything is well; a test changes what its situation is about. */
function host(
  change: Partial<Omit<Host, "exec">> & { files?: Record<string, string>; exec?: ExecTable; missing?: string[] } = {},
): Host {
  const files: Record<string, string> = {
    "/etc/os-release": 'ID=debian\nVERSION_ID="13"\n',
    "/proc/self/uid_map": "0 0 4294967295",
    "/proc/self/status": "Name:\tnode\nSeccomp:\t0\n",
    "/proc/version": "Linux version 6.12.0",
    "/proc/sys/user/max_user_namespaces": "96000",
    "/proc/self/mountinfo": MOUNTINFO.v2,
    "/proc/self/cgroup": "0::/user.slice/scope\n",
    "/sys/fs/cgroup/user.slice/scope/cgroup.controllers": "cpu memory pids\n",
    "/sys/fs/cgroup/user.slice/scope/cgroup.procs": "42\n",
    "/sys/fs/cgroup/user.slice/scope/cgroup.type": "domain\n",
    ...change.files,
  };
  // Overrides of a test are matched first.
  const exec = { ...change.exec, ...GOOD, ...change.exec };
  return {
    platform: "linux",
    uid: 1000,
    pid: 42,
    nodeVersion: "24.1.0",
    kernel: "6.12.0",
    which: (program) => (change.missing?.includes(program) ? undefined : `/usr/bin/${program}`),
    read: async (path) => files[path],
    writable: () => true,
    freeBytes: () => 50 * 1024 ** 3,
    ...change,
    exec: async (file, args) => {
      const command = [file, ...args].join(" ");
      const found = Object.entries(exec).find(([pattern]) => command.includes(pattern));
      return found?.[1] ?? failed(`unexpected: ${command}`);
    },
  };
}

type ExecTable = Record<string, ExecResult>;

// The first pattern that the command contains applies.
const GOOD: ExecTable = {
  "crun --root=/ --version": { code: 0, stdout: "crun version 1.21\ncommit: abc\n", stderr: "" },
  "--mount-proc": ok,
  userxattr: ok,
  "--fork true": ok,
  dmesg: failed("dmesg: read kernel buffer failed: Operation not permitted"),
};

const MOUNTINFO = {
  v2: "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
  hybrid:
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
  v1: "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n36 31 0:32 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n",
};

async function find(subject: Host, id: string): Promise<Check & { canRun: boolean }> {
  const report = await diagnose(subject, "/cache");
  const check = report.checks.find((each) => each.id === id);
  if (check === undefined) throw new Error(`no check ${id}`);
  return { ...check, canRun: report.canRun };
}

test("a complete host passes all checks", async () => {
  const report = await diagnose(host(), "/cache");
  expect(report.canRun).toBe(true);
  expect(report.checks.filter((check) => check.status !== "ok" && check.status !== "info")).toEqual([]);
});

describe("platform", () => {
  test.each([
    ["darwin", "lima"],
    ["win32", "wsl --install"],
  ] as const)("%s needs a Linux VM, and no other check runs", async (platform, remedy) => {
    const report = await diagnose(host({ platform }), "/cache");
    expect(report.canRun).toBe(false);
    expect(report.checks.find((check) => check.id === "platform")).toMatchObject({ status: "fail" });
    expect(report.checks.find((check) => check.id === "platform")?.remedy).toContain(remedy);
    expect(report.checks.map((check) => check.id)).not.toContain("crun");
  });

  test("warns that a kernel before 5.11 copies files", async () => {
    expect(await find(host({ kernel: "5.4.188-104.359.amzn2" }), "kernel")).toMatchObject({
      status: "warn",
      canRun: true,
    });
  });

  test("warns about an old Node", async () => {
    expect(await find(host({ nodeVersion: "20.1.0" }), "node")).toMatchObject({ status: "warn" });
  });
});

test("each other runtime that is installed has a line, and needs no action", async () => {
  const exec = {
    "runc --root=/ --version": { code: 0, stdout: "runc version 1.1.5\n", stderr: "" },
    "runsc --root=/ --version": failed("runsc: broken"),
  };
  const subject = host({ missing: ["youki"], exec });
  expect(await find(subject, "runc")).toMatchObject({ status: "info", detail: expect.stringContaining("1.1.5 at ") });
  expect(await find(subject, "runsc")).toMatchObject({ status: "info", detail: expect.stringContaining("broken") });
  expect((await diagnose(subject, "/cache")).checks.map(({ id }) => id)).not.toContain("youki");
});

describe("functions in chroots", () => {
  test("can run as root, and need no action where they cannot", async () => {
    const files = { "/proc/self/status": "CapEff:\t000001ffffffffff\n" };
    const possible = process.arch === "x64" ? "ok" : "info";
    expect(await find(host({ uid: 0, files }), "chroot")).toMatchObject({ status: possible, canRun: true });
    const check = await find(host(), "chroot");
    expect(check).toMatchObject({ status: "info", canRun: true });
    expect(check.detail).toMatch(/^cannot run: /);
  });
});

describe("crun", () => {
  test("missing: names the command that installs it, with sudo for an ordinary user", async () => {
    const check = await find(host({ missing: ["crun"] }), "crun");
    expect(check).toMatchObject({ status: "fail", remedy: "sudo apt-get install -y crun", canRun: false });
  });

  test("missing: names the command for root and for other distributions", async () => {
    const subject = host({
      uid: 0,
      missing: ["crun"],
      files: { "/etc/os-release": 'ID="rocky"\nID_LIKE="rhel centos fedora"\n' },
    });
    expect(await find(subject, "crun")).toMatchObject({ remedy: "dnf install -y crun" });
  });

  test.each([
    ["1.8.1", "warn"],
    ["1.19.1", "warn"],
    ["1.20", "ok"],
    ["1.21.0", "ok"],
    ["2.0", "ok"],
  ])("version %s is %s", async (version, status) => {
    const exec = { "crun --root=/ --version": { code: 0, stdout: `crun version ${version}\n`, stderr: "" } };
    expect(await find(host({ exec }), "crun")).toMatchObject({ status, canRun: true });
  });

  test("a crun that does not start fails", async () => {
    const exec = { "crun --root=/ --version": failed("crun: error while loading shared libraries: libyajl.so.2") };
    const check = await find(host({ exec }), "crun");
    expect(check).toMatchObject({ status: "fail", canRun: false });
    expect(check.detail).toContain("libyajl");
  });
});

describe("user namespaces", () => {
  const refused = failed("unshare: unshare failed: Operation not permitted");
  const noNamespace = {
    "--mount-proc": refused,
    "--fork true": refused,
    "--kill-child true": refused,
    userxattr: refused,
  };

  test("no unshare program", async () => {
    const check = await find(host({ missing: ["unshare"] }), "user-namespaces");
    expect(check).toMatchObject({ status: "fail", remedy: "sudo apt-get install -y util-linux" });
  });

  test("user.max_user_namespaces=0", async () => {
    const exec = { "--mount-proc": failed("unshare: unshare failed: No space left on device") };
    const files = { "/proc/sys/user/max_user_namespaces": "0\n" };
    const check = await find(host({ exec: { ...noNamespace, ...exec }, files }), "user-namespaces");
    expect(check).toMatchObject({ status: "fail", canRun: false });
    expect(check.remedy).toContain("user.max_user_namespaces=");
  });

  test("kernel.unprivileged_userns_clone=0 refuses ordinary users", async () => {
    const files = { "/proc/sys/kernel/unprivileged_userns_clone": "0\n" };
    const check = await find(host({ exec: noNamespace, files }), "user-namespaces");
    expect(check.remedy).toContain("kernel.unprivileged_userns_clone=1");
  });

  test("Ubuntu's AppArmor restriction, when the namespace itself is refused", async () => {
    const files = { "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n" };
    const check = await find(host({ exec: noNamespace, files }), "user-namespaces");
    expect(check.detail).toContain("AppArmor");
    expect(check.remedy).toContain("kernel.apparmor_restrict_unprivileged_userns=0");
  });

  test("Ubuntu's AppArmor restriction, when only mounts in it are refused", async () => {
    const files = { "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n" };
    const exec = { "--mount-proc": failed("unshare: mount /proc failed: Permission denied") };
    const check = await find(host({ exec, files }), "fresh-proc");
    expect(check).toMatchObject({ status: "fail", canRun: false });
    expect(check.detail).toContain("AppArmor");
  });

  test("the AppArmor restriction does not apply to root", async () => {
    const files = { "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n" };
    const check = await find(host({ uid: 0, exec: noNamespace, files }), "user-namespaces");
    expect(check.detail).not.toContain("AppArmor");
  });

  describe("of root", () => {
    // The runner of root starts its host without a user namespace, which requires a capability.
    const own = "/usr/bin/unshare --mount --pid --fork --kill-child";
    const status = (capabilities: string): Record<string, string> => ({
      "/proc/self/status": `Name:\tnode\nCapEff:\t${capabilities}\nSeccomp:\t2\n`,
    });

    test("without CAP_SYS_ADMIN cannot be created, although user namespaces can", async () => {
      const exec = { [`${own} --mount-proc true`]: refused, [`${own} true`]: refused };
      const check = await find(host({ uid: 0, exec, files: status("00000000a80425fb") }), "user-namespaces");
      expect(check).toMatchObject({ status: "fail", canRun: false });
      expect(check.detail).toContain("CAP_SYS_ADMIN");
      expect(check.remedy).toContain("ordinary user");
      expect(check.remedy).toContain("--cap-add=SYS_ADMIN");
      expect(await find(host({ exec, files: status("0000000000000000") }), "user-namespaces")).toMatchObject({
        status: "ok",
      });
    });

    test("with CAP_SYS_ADMIN, reports another cause of a refusal", async () => {
      const exec = { [`${own} --mount-proc true`]: refused, [`${own} true`]: refused };
      const check = await find(host({ uid: 0, exec, files: status("000001fffeffffff") }), "user-namespaces");
      expect(check).toMatchObject({ status: "fail", canRun: false });
      expect(check.detail).toContain("seccomp");
    });

    test("contain user namespaces, which the OCI runtime creates for each container", async () => {
      const inside = `${own} --mount-proc /usr/bin/unshare --user`;
      const files = { "/proc/sys/user/max_user_namespaces": "0\n" };
      const check = await find(host({ uid: 0, exec: { [inside]: refused }, files }), "user-namespaces");
      expect(check).toMatchObject({ status: "fail", canRun: false });
      expect(check.remedy).toContain("user.max_user_namespaces=");
    });
  });

  test("seccomp of a surrounding container", async () => {
    const files = { "/proc/self/status": "Name:\tnode\nSeccomp:\t2\nSeccomp_filters:\t1\n" };
    const check = await find(host({ uid: 0, exec: noNamespace, files }), "user-namespaces");
    expect(check.detail).toContain("seccomp");
    expect(check.remedy).toContain("seccomp=unconfined");
  });

  test.each([
    ["its version text", { "/proc/version": "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n" }, {}],
    ["its kernel log", {}, { dmesg: { code: 0, stdout: "[    0.000000] Starting gVisor...\n", stderr: "" } }],
  ])("gVisor, recognised by %s", async (_, files, exec) => {
    const check = await find(host({ exec: { ...noNamespace, ...exec }, files }), "user-namespaces");
    expect(check.detail).toContain("gVisor");
  });

  test("a kernel without user namespaces", async () => {
    const invalid = failed("unshare: unshare failed: Invalid argument");
    const exec = { "--mount-proc": invalid, "--fork true": invalid };
    expect((await find(host({ exec }), "user-namespaces")).remedy).toContain("CONFIG_USER_NS");
  });

  test("a surrounding container that masks /proc", async () => {
    const exec = { "--mount-proc": failed("unshare: mount /proc failed: Operation not permitted") };
    const check = await find(host({ exec }), "fresh-proc");
    expect(check).toMatchObject({ status: "fail", canRun: false });
    expect(check.remedy).toContain("systempaths=unconfined");
    expect(await find(host({ exec }), "user-namespaces")).toMatchObject({ status: "ok" });
  });

  test("repeats the message of an unknown refusal", async () => {
    expect((await find(host({ exec: noNamespace }), "user-namespaces")).detail).toContain("Operation not permitted");
  });
});

test("without overlay in user namespaces, containers still run from copies", async () => {
  const exec = { userxattr: failed("mount: /tmp/merged: wrong fs type, bad option") };
  expect(await find(host({ exec }), "overlay")).toMatchObject({ status: "warn", canRun: true });
});

test("missing subordinate ids are not a problem", async () => {
  expect(await find(host(), "subordinate-ids")).toMatchObject({ status: "info", canRun: true });
  const files = { "/etc/subuid": "alice:100000:65536\n# comment\nbob:165536:65536\n" };
  expect((await find(host({ files }), "subordinate-ids")).detail).toContain("2 ranges");
});

test("little free space for images is a warning", async () => {
  expect(await find(host({ freeBytes: () => 1024 }), "disk")).toMatchObject({ status: "warn", canRun: true });
});

describe("limits", () => {
  test("cgroup v2, delegated: enforced", async () => {
    expect(await find(host(), "limits")).toMatchObject({ status: "ok" });
    expect(await find(host(), "process-limit")).toMatchObject({ status: "ok" });
  });

  test("cgroup v2, ignores children that another check started in the group", async () => {
    const files = { "/sys/fs/cgroup/user.slice/scope/cgroup.procs": "42\n77\n", "/proc/77/status": "PPid:\t42\n" };
    expect(await find(host({ files }), "limits")).toMatchObject({ status: "ok" });
  });

  test("cgroup v2, as root in a group with other processes: uses the top group", async () => {
    const files = {
      "/sys/fs/cgroup/user.slice/scope/cgroup.procs": "42\n77\n",
      "/sys/fs/cgroup/cgroup.controllers": "cpu memory pids\n",
      "/sys/fs/cgroup/cgroup.procs": "1\n",
    };
    expect(await find(host({ uid: 0, files }), "limits")).toMatchObject({ status: "ok" });
    expect(await find(host({ files }), "limits")).toMatchObject({ status: "warn" });
  });

  test("processes are always bounded; without groups, functions of an ordinary user share a bound, and the report says how to change that", async () => {
    const writable = (path: string): boolean => !path.startsWith("/sys/fs/cgroup");
    expect(await find(host({ writable, uid: 0 }), "process-limit")).toMatchObject({ status: "ok" });
    const check = await find(host({ writable }), "process-limit");
    expect(check).toMatchObject({ status: "info", canRun: true });
    expect(check.remedy).toContain("Delegate=yes");
  });

  test("without limits of memory and cpu, functions are not pre-started", async () => {
    expect(await find(host(), "warm-pool")).toMatchObject({ status: "ok" });
    const check = await find(host({ writable: (path) => !path.startsWith("/sys/fs/cgroup") }), "warm-pool");
    expect(check).toMatchObject({ status: "info", canRun: true, detail: expect.stringContaining("--allow-unlimited") });
  });

  test("cgroup v2, the usual login session: not delegated, with a remedy", async () => {
    const check = await find(host({ writable: (path) => !path.startsWith("/sys/fs/cgroup") }), "limits");
    expect(check).toMatchObject({ status: "warn", canRun: true });
    expect(check.remedy).toContain("Delegate=yes");
  });

  test("cgroup v2, a group with other processes cannot enable controllers", async () => {
    const files = { "/sys/fs/cgroup/user.slice/scope/cgroup.procs": "42\n77\n" };
    expect(await find(host({ files }), "limits")).toMatchObject({ status: "warn" });
  });

  test("cgroup v2, enabled controllers are enough", async () => {
    const files = {
      "/sys/fs/cgroup/user.slice/scope/cgroup.procs": "42\n77\n",
      "/sys/fs/cgroup/user.slice/scope/cgroup.subtree_control": "cpu memory\n",
    };
    expect(await find(host({ files }), "limits")).toMatchObject({ status: "ok" });
  });

  test("cgroup v2, names a missing cpu controller", async () => {
    const files = { "/sys/fs/cgroup/user.slice/scope/cgroup.controllers": "memory pids\n" };
    const check = await find(host({ files }), "limits");
    expect(check).toMatchObject({ status: "warn" });
    expect(check.detail).toMatch(/^cpu cannot be limited/);
  });

  const hybrid = {
    "/proc/self/mountinfo": MOUNTINFO.hybrid,
    "/proc/self/cgroup": "4:memory:/\n1:cpu,cpuacct:/\n0::/\n",
  };

  test("hybrid, as root: uses the version 1 controllers", async () => {
    expect(await find(host({ uid: 0, files: hybrid }), "limits")).toMatchObject({ status: "ok" });
  });

  test("hybrid, as an ordinary user: not possible, with a remedy", async () => {
    const check = await find(host({ files: hybrid }), "limits");
    expect(check).toMatchObject({ status: "warn", canRun: true });
    expect(check.remedy).toContain("systemd.unified_cgroup_hierarchy=1");
  });
});

describe("cgroup layout", () => {
  test.each([
    ["v2", MOUNTINFO.v2],
    ["hybrid", MOUNTINFO.hybrid],
    ["v1", MOUNTINFO.v1],
    ["none", "22 27 0:21 / /proc rw - proc proc rw\n"],
  ])("%s", (mode, mountinfo) => {
    expect(parseCgroups(mountinfo, "").mode).toBe(mode);
  });

  test("own paths by controller", () => {
    const { paths, v1 } = parseCgroups(MOUNTINFO.hybrid, "4:memory:/a:b\n1:cpu,cpuacct:/c\n0::/u\n");
    expect(Object.fromEntries(paths)).toEqual({ memory: "/a:b", cpu: "/c", cpuacct: "/c", "": "/u" });
    expect(v1.get("cpu")).toBe("/sys/fs/cgroup/cpu,cpuacct");
  });
});
