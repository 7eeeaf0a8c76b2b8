import process from "node:process";
import type { Runner, RunOptions } from "@xfn/runner";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildCodeFunction } from "../harness/code-function.ts";
import { needs } from "../harness/needs.ts";
import { askImage, buildFiles, RUNTIMES, tinyProgram } from "../harness/runtime-images.ts";
import { runnerOf } from "../harness/shell-function.ts";
import { type ProbedCall, probeSystemCalls } from "../harness/system-call-probe.ts";
import { Workspace } from "../harness/workspace.ts";

// The seccomp profile with each installed runtime: what it refuses, and what programs need.
describe.each(RUNTIMES)("a container of %s", (ociRuntime) => {
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
    ): Promise<Record<string, string>> => JSON.parse(await askImage(runner, python, probeSystemCalls(calls), options));

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
      expect(await askImage(runner, python, code)).toBe("done\n");
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
      expect(await askImage(runner, node, code)).toBe("done\n");
    });

    test("a system call of another architecture kills the program", { skip: process.arch !== "x64" }, async () => {
      // exit(0) of i386, by int 0x80.
      const program = tinyProgram([0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80]);
      await buildFiles(workspace, "test/i386", [{ path: "/function", content: program, mode: 0o755 }]);
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
      await using runner = await runnerOf(workspace, { ociRuntime });
      expect(await askImage(runner, GO, "")).toBe("child done");
    });
  }
});

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
    env: { CGO_ENABLED: "0", GOFLAGS: "-mod=mod", GOPROXY: "off" },
    killAfterMs: 280_000,
  }).finished;
  expect(built.stderr).toBe("");
  await buildFiles(workspace, GO, [{ path: "/function", source: workspace.path("go", "function"), mode: 0o755 }]);
}
