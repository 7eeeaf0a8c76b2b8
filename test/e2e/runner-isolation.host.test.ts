import { existsSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { hostname } from "node:os";
import process from "node:process";
import type { Runner, RunOptions } from "@xfn/runner";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { askImage, RUNTIMES } from "../harness/runtime-images.ts";
import { runnerOf, SHELL } from "../harness/shell-function.ts";
import { shellWorkspace } from "../harness/shell-workspace.ts";

// The promises of docs/concepts/security-model.md about a container, with each installed runtime.
describe.each(RUNTIMES)("a container of %s", (ociRuntime) => {
  describe("is isolated", needs("crun", ociRuntime), () => {
    const shared = shellWorkspace();
    let runner: Runner;
    beforeEach(async () => {
      runner = await runnerOf(shared.workspace, { ociRuntime });
    });
    afterEach(async () => {
      await runner.close();
    });

    const sh = async (script: string, options: RunOptions = {}): Promise<string> =>
      await askImage(runner, SHELL, script, options);

    test("sees only its own processes", async () => {
      expect(await sh("cd /proc; for p in [0-9]*; do cat $p/comm; done")).toMatch(/^(sh|function|cat)\n(cat\n)*$/);
    });

    test("has only stdin, stdout and stderr open", async () => {
      // The shell that reads the script has that file open, so start another one.
      const list = "for fd in /proc/self/fd/*; do if [ -e $fd ]; then echo ${fd##*/}; fi; done";
      expect(await sh(`sh -c '${list}'`)).toBe("0\n1\n2\n");
    });

    test("has no capability and cannot gain one", async () => {
      const status = await sh("cat /proc/self/status");
      for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
        expect(status).toContain(`${set}:\t0000000000000000`);
      expect(status).toContain("NoNewPrivs:\t1");
    });

    test("has a seccomp filter", async () => {
      expect(await sh("cat /proc/self/status")).toContain("Seccomp:\t2");
    });

    test("cannot write kernel settings, not even those of its own namespaces", async () => {
      const settings = [
        "/proc/sys/kernel/hostname",
        "/proc/sys/vm/drop_caches",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sys/fs/mqueue/msg_max",
        "/proc/sysrq-trigger",
      ];
      const attempts = settings.map((path) => `(echo 1 > ${path}) 2>/dev/null && echo ${path}`).join("; ");
      expect(await sh(`${attempts}; echo end`)).toBe("end\n");
      // Most would reject a function's writes anyway, because it has no privileges outside of its user namespace.
      const mounts = (await sh("cat /proc/self/mountinfo")).split("\n").map((line) => line.split(" "));
      const readOnly = mounts.filter(([, , , , , options = ""]) => options.split(",").includes("ro"));
      const protectedPaths = readOnly.flatMap(([, , , , path = ""]) => (path.startsWith("/proc/") ? [path] : []));
      const wanted = ["bus", "fs", "irq", "sys", "sysrq-trigger"].map((name) => `/proc/${name}`);
      // Some kernels lack some of them.
      expect(protectedPaths).toEqual(expect.arrayContaining(wanted.filter((path) => existsSync(path))));
    });

    test("cannot read the host's hardware, keys and timers in /proc", async () => {
      const files = ["interrupts", "kcore", "keys", "latency_stats", "sched_debug", "timer_list", "timer_stats"];
      const folders = ["acpi", "asound", "scsi"];
      const read = files.map((name) => `head -c 1 /proc/${name} 2>/dev/null | tr '\\0' x`).join("; ");
      const list = folders.map((name) => `ls -A /proc/${name} 2>/dev/null`).join("; ");
      expect(await sh(`${read}; ${list}; echo end`)).toBe("end\n");
    });

    test("cannot read the kernel's parameters, symbols and modules, and the host's locks and pressure", async () => {
      const files = ["cmdline", "config.gz", "kallsyms", "locks", "modules"];
      const read = files.map((name) => `head -c 1 /proc/${name} 2>/dev/null | tr '\\0' x`).join("; ");
      expect(await sh(`${read}; ls -A /proc/pressure 2>/dev/null; echo end`)).toBe("end\n");
    });

    test("has no sysfs and no cgroup file system", async () => {
      expect(await sh("ls -A /sys 2>/dev/null; grep -E ' (sysfs|cgroup2?) ' /proc/self/mountinfo; echo end")).toBe(
        "end\n",
      );
    });

    test("has only harmless devices in /dev, and cannot make others", async () => {
      const devices = (await sh("cd /dev; for d in *; do [ -b $d ] && echo block $d; [ -c $d ] && echo $d; done; echo"))
        .trim()
        .split("\n");
      expect(devices.filter((device) => device !== "ptmx").sort()).toEqual(
        ["full", "null", "random", "tty", "urandom", "zero"].sort(),
      );
      // ptmx is a dangling link.
      expect(await sh("for d in /dev/ptmx /dev/pts; do [ -e $d ] && echo $d; done; echo end")).toBe("end\n");
      expect(await sh("mknod /tmp/mem c 1 1 2>/dev/null && echo made; echo end")).toBe("end\n");
    });

    test("cannot change the times of the machine's devices", async () => {
      const { mtimeMs } = statSync("/dev/null");
      expect(await sh("touch /dev/null 2>/dev/null || echo refused; chmod 600 /dev/null 2>/dev/null; echo end")).toBe(
        "refused\nend\n",
      );
      expect(statSync("/dev/null").mtimeMs).toBe(mtimeMs);
    });

    test("has its own devices, whose locks and watches no other call sees", needs("root"), async () => {
      const device = "stat -c %d:%i /dev/null; sleep 1";
      const [one, two] = await Promise.all([sh(device), sh(device)]);
      expect(one).not.toBe(two);
      const { dev } = statSync("/dev/null");
      expect(one.startsWith(`${dev}:`)).toBe(false);
    });

    test("can write only little outside of its root file system", async () => {
      expect(await sh("head -c 1000000 /dev/zero > /dev/fill 2>/dev/null || echo full; rm -f /dev/fill")).toBe(
        "full\n",
      );
      expect(
        await sh("head -c 100000000 /dev/zero > /dev/shm/fill 2>/dev/null || echo full; rm -f /dev/shm/fill"),
      ).toBe("full\n");
    });

    test("cannot fill the kernel's memory with empty files", async () => {
      const make = (folder: string): string =>
        `(i=0; while [ $i -lt 20000 ]; do : > ${folder}/$i; i=$((i+1)); done) 2>/dev/null || echo full`;
      expect(await sh(`${make("/dev")}; ${make("/dev/shm")}`)).toBe("full\nfull\n");
    });

    test("has a single id, which is not root's outside", async () => {
      const [inside, outside, size] = (await sh("cat /proc/self/uid_map")).trim().split(/\s+/).map(Number);
      expect({ inside, size }).toEqual({ inside: 0, size: 1 });
      // The map shows the id in the parent user namespace. For a root runner that is the host's.
      if (process.getuid?.() === 0) expect(outside).toBeGreaterThan(65_536);
    });

    test("has its own host name, and not the runner's environment", async () => {
      process.env["XFN_TEST_SECRET"] = "from the runner";
      try {
        expect(await sh("cat /proc/sys/kernel/hostname")).not.toBe(`${hostname()}\n`);
        expect(await sh("cat /proc/self/environ | tr '\\0' '\\n'")).not.toContain("XFN_TEST_SECRET");
      } finally {
        delete process.env["XFN_TEST_SECRET"];
      }
    });

    test("has its own namespaces; Accessible shares only the network", async () => {
      const kinds = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"];
      const links = kinds.map((kind) => `readlink /proc/self/ns/${kind}`).join("; ");
      const ours = kinds.map((kind) => readlinkSync(`/proc/self/ns/${kind}`));
      const shared = async (network: "Isolated" | "Accessible"): Promise<string[]> => {
        const theirs = (await sh(links, { network })).trim().split("\n");
        expect(theirs.length).toBe(kinds.length);
        return kinds.filter((_, index) => theirs[index] === ours[index]);
      };
      expect(await shared("Isolated")).toEqual([]);
      expect(await shared("Accessible")).toEqual(["net"]);
    });

    test("has no network if Isolated; if Accessible, cannot change the runner's settings or resolver", async () => {
      const interfaces = (text: string): string[] =>
        text
          .split("\n")
          .flatMap((line) => line.match(/^\s*(\S+):/)?.[1] ?? [])
          .sort();
      const host = interfaces(readFileSync("/proc/net/dev", "utf8"));
      expect(interfaces(await sh("cat /proc/net/dev"))).toEqual(["lo"]);
      expect(interfaces(await sh("cat /proc/net/dev", { network: "Accessible" }))).toEqual(host);
      const files = ["/etc/resolv.conf", "/etc/hosts", "/proc/sys/net/ipv4/ip_forward"];
      const attempts = files.map((path) => `(echo 1 >> ${path}) 2>/dev/null && echo ${path}`).join("; ");
      expect(await sh(`${attempts}; echo end`, { network: "Accessible" })).toBe("end\n");
    });

    test("writes no core files, and its open files are bounded", async () => {
      expect(await sh("ulimit -c; ulimit -n")).toBe("0\n4096\n");
    });
  });
});
