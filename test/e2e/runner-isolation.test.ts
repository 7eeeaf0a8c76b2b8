import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import process from "node:process";
import { type BuildConfig, type BuildEntry, buildImage, openStore } from "@xfn/oci-rootfs";
import type { Runner, RunOptions } from "@xfn/runner";
import { RunnerError, sandboxOwner } from "@xfn/runner";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildCodeFunction } from "../harness/code-function.ts";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { buildShellFunction, runnerOf, SHELL } from "../harness/shell-function.ts";
import { shellWorkspace } from "../harness/shell-workspace.ts";
import { type ProbedCall, probeSystemCalls } from "../harness/system-call-probe.ts";
import { Workspace } from "../harness/workspace.ts";

const RUNTIMES = ["crun", "runc"] as const;

// The promises of docs/security-model.md about a container, with each installed runtime.
describe.each(RUNTIMES)("a container of %s", (ociRuntime) => {
  describe("is isolated", needs("crun", ociRuntime), () => {
    let workspace: Workspace;
    let runner: Runner;
    let state: Before;
    beforeAll(async () => {
      workspace = await Workspace.create();
      await buildShellFunction(workspace);
    });
    afterAll(async () => {
      await workspace[Symbol.asyncDispose]();
    });
    beforeEach(async () => {
      state = await before(workspace.root);
      runner = await runnerOf(workspace, { ociRuntime });
    });
    afterEach(async () => {
      await runner.close();
      expect(await leftovers(state)).toEqual([]);
    });

    const sh = async (script: string, options: RunOptions = {}): Promise<string> => await ask(runner, script, options);

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

  describe("makes system calls", needs("crun", "python3", ociRuntime), () => {
    let workspace: Workspace;
    let runner: Runner;
    let python: string;
    beforeAll(async () => {
      workspace = await Workspace.create();
      python = await buildCodeFunction(workspace, "python");
      runner = await runnerOf(workspace, { ociRuntime });
    });
    afterAll(async () => {
      await runner.close();
      await workspace[Symbol.asyncDispose]();
    });
    const probe = async (
      calls: Record<string, ProbedCall>,
      options: RunOptions = {},
    ): Promise<Record<string, string>> => JSON.parse(await ask(runner, probeSystemCalls(calls), options, python));

    const CLONE_NEWUSER = 0x1000_0000;
    const SIGCHLD = 17;
    // Ordinary processes on ordinary hosts can make most of these calls.
    const denied: Record<string, ProbedCall> = {
      "mount, in its own namespace": { numbers: [165, 40], args: ["buffer", "buffer", "buffer", 0, 0] },
      "unshare of the user namespace": { numbers: [272, 97], args: [CLONE_NEWUSER] },
      "clone with a user namespace": { numbers: [56, 220], args: [CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0] },
      setns: { numbers: [308, 268], args: [0, 0] },
      ptrace: { numbers: [101, 117], args: [0, 0, 0, 0] },
      process_vm_readv: { numbers: [310, 270], args: [1, 0, 0, 0, 0, 0] },
      bpf: { numbers: [321, 280], args: [0, "buffer", 4096] },
      perf_event_open: { numbers: [298, 241], args: ["buffer", 0, -1, -1, 0] },
      "userfaultfd, for faults of user mode": { numbers: [323, 282], args: [1] },
      "keyctl, the id of a keyring": { numbers: [250, 219], args: [0, -3, 1] },
      add_key: { numbers: [248, 217], args: ["buffer", "buffer", "buffer", 1, -3] },
      open_by_handle_at: { numbers: [304, 265], args: [0, "buffer", 0] },
      fanotify_init: { numbers: [300, 262], args: [0x200, 0] },
      kexec_load: { numbers: [246, 104], args: [0, 0, 0, 0] },
      reboot: { numbers: [169, 142], args: [0, 0, 0, 0] },
      kcmp: { numbers: [312, 272], args: [1, 1, 1, 0, 0] },
      "a change of personality": { numbers: [135, 92], args: [0x0040_0000] },
    };
    const unknown: Record<string, ProbedCall> = {
      clone3: { numbers: [435, 435], args: ["buffer", 8] },
      io_uring_setup: { numbers: [425, 425], args: [1, "buffer"] },
      "io_setup of the older asynchronous I/O": { numbers: [206, 0], args: [1, "buffer"] },
      memfd_secret: { numbers: [447, 447], args: [0] },
    };

    test("calls that reach beyond the container fail", async () => {
      const refused = Object.fromEntries(Object.keys(denied).map((name) => [name, "EPERM"]));
      // The specification's profile has one default errno, so it cannot give personality and clone another one.
      for (const name of ["a change of personality", "clone with a user namespace"])
        if (ociRuntime === "runc") refused[name] = "ENOSYS";
      expect(await probe(denied)).toEqual(refused);
    });

    test("calls that libraries can do without fail with ENOSYS", async () => {
      expect(await probe(unknown)).toEqual(Object.fromEntries(Object.keys(unknown).map((name) => [name, "ENOSYS"])));
    });

    test.each(["Isolated", "Accessible"] as const)(
      "with network %s: can open only internet, Unix and route netlink sockets",
      async (network) => {
        const socket = (family: number, type: number, protocol: number): ProbedCall => ({
          numbers: [41, 198],
          args: [family, type, protocol],
        });
        const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK] = [
          1, 2, 10, 16, 17, 38, 40,
        ] as const;
        const [STREAM, DATAGRAM, RAW, SEQUENCE] = [1, 2, 3, 5] as const;
        const allowed = {
          unix: socket(AF_UNIX, STREAM, 0),
          tcp: socket(AF_INET, STREAM, 6),
          udp: socket(AF_INET, DATAGRAM, 0),
          "netlink, routes": socket(AF_NETLINK, RAW, 0),
        };
        const refused = {
          "vsock, to the host of a virtual machine": socket(AF_VSOCK, STREAM, 0),
          "the kernel's cryptography": socket(AF_ALG, SEQUENCE, 0),
          packet: socket(AF_PACKET, RAW, 0),
          "netlink, sockets of others": socket(AF_NETLINK, RAW, 4),
          "netlink, packet filters": socket(AF_NETLINK, RAW, 12),
          "netlink, events of devices": socket(AF_NETLINK, RAW, 15),
          sctp: socket(AF_INET, STREAM, 132),
          "sctp, v6": socket(AF_INET6, STREAM, 132),
        };
        expect(await probe(allowed, { network })).toEqual(
          Object.fromEntries(Object.keys(allowed).map((name) => [name, "ok"])),
        );
        const errno = ociRuntime === "runc" ? "ENOSYS" : "EAFNOSUPPORT";
        expect(await probe(refused, { network })).toEqual(
          Object.fromEntries(Object.keys(refused).map((name) => [name, errno])),
        );
      },
    );

    test("Python's threads, processes, locks and temporary files work", async () => {
      const code = `
import concurrent.futures, multiprocessing, os, select, signal, socket, subprocess, sys, tempfile, threading, time
with concurrent.futures.ThreadPoolExecutor(4) as pool: assert sum(pool.map(lambda n: n * n, range(10))) == 285
assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout == b"1\\n"
lock = multiprocessing.Lock()
with lock: pass
a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"
server = socket.create_server(("127.0.0.1", 0)); select.select([server], [], [], 0)
with tempfile.NamedTemporaryFile() as file: file.write(b"x"); file.flush(); os.fsync(file.fileno()); os.chmod(file.name, 0o600)
child = os.fork()
if child == 0: os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
signal.signal(signal.SIGALRM, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(0.05)
os.sched_getaffinity(0); os.getloadavg(); os.urandom(8); os.nice(1); socket.if_nameindex()
print("done")
`;
      expect(await ask(runner, code, {}, python)).toBe("done\n");
    });
  });

  describe("runs programs", needs("crun", ociRuntime), () => {
    let workspace: Workspace;
    let runner: Runner;
    beforeAll(async () => {
      workspace = await Workspace.create();
      runner = await runnerOf(workspace, { ociRuntime });
    });
    afterAll(async () => {
      await runner.close();
      await workspace[Symbol.asyncDispose]();
    });

    test("Node's workers, processes, timers, watchers and sockets work", async () => {
      const node = await buildCodeFunction(workspace, "node");
      const code = `
const { Worker } = require("node:worker_threads"), { execFileSync } = require("node:child_process");
const fs = require("node:fs"), net = require("node:net"), os = require("node:os"), crypto = require("node:crypto");
(async () => {
  await new Promise((resolve) => new Worker("process.exit(0)", { eval: true }).on("exit", resolve));
  if (execFileSync(process.execPath, ["-p", "1"]).toString() !== "1\\n") throw new Error("child");
  fs.watch("/").close(); fs.copyFileSync(process.execPath, "/copy"); await fs.promises.rm("/copy");
  const server = net.createServer((socket) => socket.end("x")).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.on("listening", resolve));
  await new Promise((resolve) => net.connect(server.address().port, "127.0.0.1").on("data", resolve)); server.close();
  crypto.scryptSync("a", "b", 32); os.cpus(); os.totalmem(); os.networkInterfaces(); os.setPriority(1);
  await require("node:dns").promises.lookup("127.0.0.1");
  new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
  console.log("done");
})();
`;
      expect(await ask(runner, code, {}, node)).toBe("done\n");
    });

    test("a system call of another architecture kills the program", { skip: process.arch !== "x64" }, async () => {
      // exit(0) of i386, by int 0x80.
      const program = tinyProgram([0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80]);
      await build(workspace, "test/i386", [{ path: "/function", content: program, mode: 0o755 }]);
      await expect(runner.run("test/i386", Buffer.from(""))).rejects.toMatchObject({
        code: "NonZeroExit",
        // SIGSYS
        exitCode: 128 + 31,
      });
    });
  });
});

describe("a Go program", needs("crun", "go"), () => {
  let workspace: Workspace;
  beforeAll(async () => {
    workspace = await Workspace.create();
    await buildGoFunction(workspace);
  });
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
  });

  for (const ociRuntime of RUNTIMES) {
    test(`runs in a container of ${ociRuntime}`, needs(ociRuntime), async () => {
      await withRunner(workspace, { ociRuntime }, async (runner) => {
        expect(await ask(runner, "", {}, GO)).toBe("child done");
      });
    });
  }
});

describe("a broken OCI runtime", needs("crun"), () => {
  const shared = shellWorkspace();
  const runtime = async (does: string): Promise<string> =>
    await shared.workspace.write(
      "runtime",
      `#!/bin/sh\ncase "$*" in *--version) echo crun version 1.20; exit;; esac\n${does}\n`,
      {
        mode: 0o755,
      },
    );

  test("fails with a reason only on stderr: the error is StartFailed with that reason", async () => {
    await withRunner(
      shared.workspace,
      { ociRuntime: await runtime("echo cannot work here >&2; exit 1") },
      async (runner) => {
        await expect(runner.run(SHELL, Buffer.from("echo done\n"))).rejects.toMatchObject({
          code: "StartFailed",
          phase: "start",
          stderr: "cannot work here\n",
        });
      },
    );
  });

  test("inherits only stdin, stdout and stderr (CVE-2024-21626)", async () => {
    // ls opens 3 for the listed folder.
    await withRunner(
      shared.workspace,
      { ociRuntime: await runtime("ls /proc/self/fd >&2; exit 1") },
      async (runner) => {
        await expect(runner.run(SHELL, Buffer.from("echo done\n"))).rejects.toMatchObject({ stderr: "0\n1\n2\n3\n" });
      },
    );
  });

  test("hangs: the call ends at its deadline", async () => {
    await withRunner(shared.workspace, { ociRuntime: await runtime("exec sleep 600") }, async (runner) => {
      await expect(runner.run(SHELL, Buffer.from("echo done\n"), { timeoutMs: 500 })).rejects.toMatchObject({
        code: "Timeout",
      });
    });
  });

  test("claims to be crun but ignores the filter: no function runs", needs("runc"), async () => {
    const ociRuntime = await runtime('shift; exec runc --rootless=true "$@"');
    await withRunner(shared.workspace, { ociRuntime }, async (runner) => {
      await expect(runner.run(SHELL, Buffer.from("echo done\n"))).rejects.toBeInstanceOf(RunnerError);
    });
  });

  test("is no OCI runtime: the first call fails, and the next one uses its repaired version", async () => {
    const ociRuntime = await shared.workspace.write("runtime", "#!/bin/sh\necho not me >&2\nexit 2\n", { mode: 0o755 });
    await withRunner(shared.workspace, { ociRuntime }, async (runner) => {
      await expect(runner.run(SHELL, Buffer.from("echo done\n"))).rejects.toMatchObject({
        code: "StartFailed",
        message: expect.stringContaining("not me"),
      });
      await runtime('exec crun "$@"');
      expect(await ask(runner, "echo done")).toBe("done\n");
    });
  });

  test("lacks security fixes: the runner warns once", async () => {
    const ociRuntime = await shared.workspace.write(
      "runtime",
      '#!/bin/sh\ncase "$*" in *--version) echo crun version 1.19; exit;; esac\nexec crun "$@"\n',
      { mode: 0o755 },
    );
    const warnings: (string | undefined)[][] = [];
    await withRunner(
      shared.workspace,
      { ociRuntime, onWarning: (message, about) => warnings.push([message, about]) },
      async (runner) => {
        for (let call = 0; call < 2; call++) expect(await ask(runner, "echo done")).toBe("done\n");
      },
    );
    expect(warnings).toEqual([[expect.stringMatching(/1\.19.*CVE/), "host"]]);
  });
});

describe("hostile images", needs("crun"), () => {
  const shared = shellWorkspace();
  let sentinel: string;
  beforeAll(async () => {
    sentinel = await shared.workspace.makeFolder("sentinel");
    writeFileSync(`${sentinel}/file`, "untouched");
  });
  afterEach(() => {
    expect(readdirSync(sentinel)).toEqual(["file"]);
    expect(readFileSync(`${sentinel}/file`, "utf8")).toBe("untouched");
  });

  test("labels and annotations of the image do not configure the runtime", async () => {
    const orders = {
      "run.oci.handler": "krun",
      "run.oci.hooks.stdout": `${sentinel}/hook`,
      "run.oci.seccomp_bpf_data": "",
      "run.oci.delegate-cgroup": "/",
      "org.criu.config": `${sentinel}/file`,
    };
    await onShell(shared.workspace, "test/orders", { entries: [], config: { labels: orders }, annotations: orders });
    await withRunner(shared.workspace, {}, async (runner) => {
      expect(await ask(runner, "grep Seccomp: /proc/self/status", {}, "test/orders")).toBe("Seccomp:\t2\n");
    });
  });

  test("an entrypoint that looks like a runtime option runs as a program", async () => {
    await onShell(shared.workspace, "test/option", {
      entries: [{ path: "/--bundle=/x", content: '#!/bin/sh\necho "$0 $1"\n', mode: 0o755 }],
      config: { entrypoint: ["--bundle=/x", "--root=/y"], workdir: "/" },
    });
    await withRunner(shared.workspace, {}, async (runner) => {
      expect(await ask(runner, "", {}, "test/option")).toMatch(/--bundle=\/x --root=\/y\n$/);
    });
  });

  test("NUL bytes in the environment are rejected", async () => {
    await onShell(shared.workspace, "test/nul", { entries: [], config: { env: { A: "b\0LD_PRELOAD=/x" } } });
    await withRunner(shared.workspace, {}, async (runner) => {
      await expect(runner.run("test/nul", Buffer.from(""))).rejects.toMatchObject({
        code: "ImageInvalid",
        retryable: false,
      });
    });
  });

  describe.each([
    { rootfs: "overlay", readOnlyRoot: false },
    { rootfs: "copy", readOnlyRoot: false },
    { rootfs: "overlay", readOnlyRoot: true },
  ] as const)("with $rootfs, read-only: $readOnlyRoot", (options) => {
    test.each(["proc", "dev", "dev/shm", "tmp", "sys", "etc/resolv.conf", "etc/hosts", "etc"])(
      "a link at /%s leads no mount and no file out",
      async (place) => {
        const image = `test/link-${place.replaceAll("/", "-")}`;
        for (const target of [sentinel, `../../../../../../../..${sentinel}/file`]) {
          await build(shared.workspace, image, [
            { path: `/${place}`, link: target },
            { path: "/function", content: selfReport(), mode: 0o755 },
          ]);
          await withRunner(shared.workspace, options, async (runner) => {
            for (const network of ["Isolated", "Accessible"] as const) {
              // The image runs or fails. The sentinel must stay untouched in both cases.
              const outcome = await runner.run(image, Buffer.from(""), { network }).then(
                () => "ran",
                (error: { code: string }) => error.code,
              );
              expect(["ran", "StartFailed", "RootFilesystemFailed"]).toContain(outcome);
            }
          });
        }
      },
    );
  });

  /** A program that exits at once. */
  const selfReport = (): Buffer => tinyProgram(EXIT[process.arch === "arm64" ? "arm64" : "x64"]);
});

const EXIT = {
  x64: [0x31, 0xff, 0xb8, 0xe7, 0, 0, 0, 0x0f, 0x05],
  arm64: [0, 0, 0x80, 0xd2, 0xc8, 0x0b, 0x80, 0xd2, 1, 0, 0, 0xd4],
} as const;

/** A static ELF program, elf(5), with one segment of code. */
function tinyProgram(code: readonly number[]): Buffer {
  const header = Buffer.alloc(120);
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1], 0);
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(process.arch === "arm64" ? 183 : 62, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(0x40_0078n, 24);
  header.writeBigUInt64LE(64n, 32);
  header.writeUInt16LE(64, 52);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(1, 56);
  header.writeUInt32LE(1, 64);
  header.writeUInt32LE(5, 68);
  header.writeBigUInt64LE(0x40_0000n, 80);
  header.writeBigUInt64LE(0x40_0000n, 88);
  header.writeBigUInt64LE(BigInt(120 + code.length), 96);
  header.writeBigUInt64LE(BigInt(120 + code.length), 104);
  header.writeBigUInt64LE(0x1000n, 112);
  return Buffer.concat([header, Buffer.from(code)]);
}

async function ask(runner: Runner, script: string, options: RunOptions = {}, image = SHELL): Promise<string> {
  const output = await runner.run(image, Buffer.from(`${script}\n`), options).catch((error: unknown) => {
    // Include stderr in the output of a failed test.
    throw error instanceof RunnerError ? new Error(`${error.message}: ${error.stderr}`, { cause: error }) : error;
  });
  return Buffer.from(output).toString("utf8");
}

async function withRunner(
  workspace: Workspace,
  options: Parameters<typeof runnerOf>[1],
  work: (runner: Runner) => Promise<void>,
): Promise<void> {
  const runner = await runnerOf(workspace, options);
  try {
    await work(runner);
  } finally {
    await runner.close();
  }
}

async function storeOf(workspace: Workspace): ReturnType<typeof openStore> {
  const owner = sandboxOwner();
  return await openStore({ dir: workspace.cache, ...(owner === undefined ? {} : { owner }) });
}

/** Builds an image with only these files. Its entrypoint is /function. */
async function build(workspace: Workspace, name: string, entries: BuildEntry[]): Promise<void> {
  const store = await storeOf(workspace);
  await buildImage({ store, name, layers: [{ entries }], config: { entrypoint: ["/function"] } });
}

/** Builds an image on top of the shell's. */
async function onShell(
  workspace: Workspace,
  name: string,
  more: { entries: BuildEntry[]; config: BuildConfig; annotations?: Record<string, string> },
): Promise<void> {
  const store = await storeOf(workspace);
  const base = await store.image(SHELL);
  const { entries, config, annotations } = more;
  await buildImage({ store, name, base, layers: [{ entries }], config, ...(annotations && { annotations }) });
}

const GO = "test/go";

async function buildGoFunction(workspace: Workspace): Promise<void> {
  await workspace.write("go/go.mod", "module function\n");
  await workspace.write(
    "go/main.go",
    `package main
import ("fmt"; "io"; "net"; "os"; "os/exec"; "runtime"; "sync"; "time")
func check(err error) { if err != nil { panic(err) } }
func main() {
  if len(os.Args) > 1 { fmt.Print("child"); return }
  var group sync.WaitGroup
  for i := 0; i < 50; i++ { group.Add(1); go func() { runtime.LockOSThread(); time.Sleep(time.Millisecond); group.Done() }() }
  group.Wait()
  output, err := exec.Command("/function", "child").Output(); check(err)
  listener, err := net.Listen("tcp", "127.0.0.1:0"); check(err)
  go func() { connection, _ := listener.Accept(); connection.Close() }()
  connection, err := net.Dial("tcp", listener.Addr().String()); check(err)
  io.ReadAll(connection)
  _, err = net.Interfaces(); check(err)
  check(os.WriteFile("/x", []byte("x"), 0o600))
  runtime.GC()
  fmt.Print(string(output), " done")
}
`,
  );
  const built = await workspace.start(["go", "build", "-o", workspace.path("go", "function"), "."], {
    cwd: workspace.path("go"),
    env: { CGO_ENABLED: "0", GOFLAGS: "-mod=mod", GOPROXY: "off", GOCACHE: workspace.path("go-cache") },
    killAfterMs: 280_000,
  }).finished;
  expect(built.stderr).toBe("");
  await build(workspace, GO, [{ path: "/function", source: workspace.path("go", "function"), mode: 0o755 }]);
}
