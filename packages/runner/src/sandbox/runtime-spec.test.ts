import { expect, test } from "vitest";
import type { ProcessConfig } from "./runtime-spec.ts";
import { runtimeSpec } from "./runtime-spec.ts";

const echo: ProcessConfig = {
  args: ["/bin/echo", "--bundle=/x"],
  env: ["PATH=/bin"],
  cwd: "/work",
  user: { uid: 1000, gid: 1001 },
};

function spec(network: "Isolated" | "Accessible" = "Isolated", runtime?: "crun" | "runc" | "runsc" | "other") {
  return JSON.parse(
    runtimeSpec(echo, {
      network,
      ...(runtime === undefined ? {} : { runtime }),
      owner: { uid: 7, gid: 8 },
      rootfs: "/scratch/rootfs",
      dev: "dev",
      networkFiles: { resolvConf: "/scratch/resolv.conf", hosts: "/scratch/hosts" },
    }),
  );
}

test("keeps arguments as an array, so that none becomes an option or is split", () => {
  expect(spec().process.args).toEqual(["/bin/echo", "--bundle=/x"]);
});

test("the sandbox has one id, the image's USER, mapped to the layers' owner", () => {
  expect(spec().linux.uidMappings).toEqual([{ containerID: 1000, hostID: 7, size: 1 }]);
  expect(spec().linux.gidMappings).toEqual([{ containerID: 1001, hostID: 8, size: 1 }]);
  expect(spec().process.user).toEqual({ uid: 1000, gid: 1001 });
});

test("has no capability and can gain none", () => {
  const { capabilities, noNewPrivileges } = spec().process;
  expect(Object.values(capabilities).flat()).toEqual([]);
  expect(Object.keys(capabilities).sort()).toEqual(["ambient", "bounding", "effective", "inheritable", "permitted"]);
  expect(noNewPrivileges).toBe(true);
});

test("makes every namespace; only Accessible shares the network", () => {
  const types = (network: "Isolated" | "Accessible"): string[] =>
    spec(network)
      .linux.namespaces.map((entry: { type: string }) => entry.type)
      .sort();
  expect(types("Isolated")).toEqual(["cgroup", "ipc", "mount", "network", "pid", "user", "uts"]);
  expect(types("Accessible")).toEqual(["cgroup", "ipc", "mount", "pid", "user", "uts"]);
});

test("only Accessible sees the host's resolver configuration, read-only", () => {
  const destinations = (network: "Isolated" | "Accessible"): string[] =>
    spec(network).mounts.map((mount: { destination: string }) => mount.destination);
  expect(destinations("Isolated")).toEqual(["/proc", "/dev", "/dev/shm"]);
  expect(destinations("Accessible")).toEqual(["/proc", "/dev", "/dev/shm", "/etc/resolv.conf", "/etc/hosts"]);
  for (const mount of spec("Accessible").mounts.slice(3)) expect(mount.options).toContain("ro");
});

test("gVisor gets its own devices, and a bounded /tmp in place of its unbounded one", () => {
  const { mounts } = spec("Isolated", "runsc");
  const at = (path: string) => mounts.find((mount: { destination: string }) => mount.destination === path);
  expect(at("/dev").type).toBe("tmpfs");
  expect(at("/tmp").options).toContain(`size=${256 * 1024 * 1024}`);
});

test("sets only known fields: no hooks, and no foreign annotations", () => {
  expect(Object.keys(spec()).sort()).toEqual([
    "annotations",
    "hostname",
    "linux",
    "mounts",
    "ociVersion",
    "process",
    "root",
  ]);
  expect(spec().annotations).toEqual({});
  expect(Object.keys(spec("Isolated", "crun").annotations)).toEqual(["run.oci.seccomp_bpf_data"]);
});

test.each(["crun", "runc", "other"] as const)("%s gets a seccomp profile", (runtime) => {
  expect(spec("Isolated", runtime).linux.seccomp.defaultAction).toMatch(/^SCMP_ACT_(ERRNO|KILL_PROCESS)$/);
});

test("the kernel kills it before other processes if the machine runs out of memory", () => {
  expect(spec().process.oomScoreAdj).toBe(1000);
});
