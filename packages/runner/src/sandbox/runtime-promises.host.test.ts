import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { brokenPromise, findProcess, type ProcessFiles } from "./runtime-promises.ts";

const STATUS = {
  Seccomp: "2",
  NoNewPrivs: "1",
  CapPrm: "0000000000000000",
  CapEff: "0000000000000000",
  CapBnd: "0000000000000000",
};
const LIMITS = "Max open files            4096                 4096                 files\n";
const GROUP = "/xfn-1-2-3";

function container(change: Partial<typeof STATUS> = {}, files: Record<string, string> = {}): ProcessFiles {
  const status = Object.entries({ ...STATUS, ...change }).map(([name, value]) => `${name}:\t${value}\n`);
  const texts: Record<string, string> = { status: status.join(""), limits: LIMITS, cgroup: `0::${GROUP}\n`, ...files };
  return { read: (name) => texts[name] ?? "", link: (name) => texts[name] ?? `container ${name}` };
}

const HOST: ProcessFiles = { read: () => "", link: (name) => `host ${name}` };

test("a container as the configuration has it keeps all promises", () => {
  for (const family of ["crun", "runc", "youki", "runsc", "other"] as const)
    expect(brokenPromise(family, container(), HOST, [GROUP])).toBeUndefined();
});

test.each<[string, ProcessFiles]>([
  ["seccomp", container({ Seccomp: "0" })],
  ["noNewPrivileges", container({ NoNewPrivs: "0" })],
  ["capabilities", container({ CapEff: "00000000a80425fb" })],
  ["capabilities", container({ CapBnd: "000001ffffffffff" })],
  ["resource limits", container({}, { limits: LIMITS.replaceAll("4096", "1048576") })],
  ["net namespace", container({}, { "ns/net": "host ns/net" })],
  ["user namespace", container({}, { "ns/user": "host ns/user" })],
  ["cgroups", container({}, { cgroup: "0::/elsewhere\n" })],
])("a runtime that ignores its configuration is reported by what it breaks: %s", (what, broken) => {
  expect(brokenPromise("other", broken, HOST, [GROUP])).toContain(what);
});

test("gVisor's kernel may run in the pid namespace of its caller, and functions of no other runtime may", () => {
  const shared = container({}, { "ns/pid": "host ns/pid" });
  expect(brokenPromise("runsc", shared, HOST, [GROUP])).toBeUndefined();
  for (const family of ["crun", "runc", "youki", "other"] as const)
    expect(brokenPromise(family, shared, HOST, [GROUP])).toContain("pid namespace");
  const user = container({}, { "ns/user": "host ns/user" });
  expect(brokenPromise("runsc", user, HOST, [GROUP])).toContain("user namespace");
});

test("a container whose process never appears is not waited for without end", async () => {
  const wanted = { family: "other", host: process.pid, program: "no-such-program" } as const;
  expect(await findProcess(wanted, new Set(), () => false, 20)).toBeUndefined();
  expect(await findProcess(wanted, new Set(), () => true)).toBeUndefined();
});

test("a process of an earlier container is not taken for the container's", async () => {
  const program = readFileSync("/proc/self/comm", "utf8").trim();
  const wanted = { family: "other", host: process.pid, program } as const;
  expect(await findProcess(wanted, new Set(), () => false)).toBe(process.pid);
  expect(await findProcess(wanted, new Set([process.pid]), () => false, 20)).toBeUndefined();
});
