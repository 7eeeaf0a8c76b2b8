import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { type Runner, RunnerError, type RunOptions } from "@xfn/runner";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testImage, writeLayout } from "../../packages/oci-rootfs/testing/layout.ts";
import { tarball } from "../../packages/oci-rootfs/testing/tarball.ts";
import { needs } from "../harness/needs.ts";
import { childrenOf } from "../harness/processes.ts";
import { ask, runnerOf, SHELL, storeOf } from "../harness/shell-function.ts";
import { shellWorkspace } from "../harness/shell-workspace.ts";

describe("a read-only root file system", needs("crun"), () => {
  const shared = shellWorkspace();

  describe.each(["overlay", "copy"] as const)("by %s", (rootfs) => {
    let runner: Runner;
    beforeEach(async () => {
      runner = await runnerOf(shared.workspace, { rootfs, readOnlyRoot: true });
    });
    afterEach(async () => {
      await runner.close();
    });
    const sh = async (script: string, options: RunOptions = {}): Promise<string> => await ask(runner, script, options);

    /** Adds a layer with a FIFO to the shell's image. */
    const withFifo = async (): Promise<string> => {
      const store = await storeOf(shared.workspace);
      const { layers, config } = await store.image(SHELL);
      const archives = layers.map((layer) => execFileSync("tar", ["-C", layer, "-cf", "-", "."], { maxBuffer: 1e9 }));
      const fifo = tarball([{ name: "pipe", type: "6", mode: 0o666 }]);
      return writeLayout(
        shared.workspace.path("layout"),
        testImage([...archives, fifo], { config: config.config ?? {} }),
      );
    };

    test("only /tmp and /dev/shm are writable", async () => {
      const attempt = (path: string): string => `(echo x > ${path}/new) 2>/dev/null && echo ${path}`;
      const paths = ["", "/etc", "/proc", "/function", "/tmp", "/dev/shm"];
      expect(await sh(`${paths.map(attempt).join("; ")}; rm /function 2>/dev/null || echo stays`)).toBe(
        "/tmp\n/dev/shm\nstays\n",
      );
    });

    test("calls share the root file system, but no written files", async () => {
      const calls = await Promise.all([1, 2, 3].map((n) => sh(`echo ${n} > /tmp/n; sleep 0.2; cat /tmp/*`)));
      expect(calls).toEqual(["1\n", "2\n", "3\n"]);
      expect(await sh("ls -A /tmp")).toBe("");
    });

    test("is mounted read-only outside of all containers too", async () => {
      const earlier = new Set(childrenOf(process.pid));
      await using another = await runnerOf(shared.workspace, { rootfs, readOnlyRoot: true });
      await another.run(SHELL, Buffer.from("echo\n"));
      const [host] = childrenOf(process.pid)
        .filter((pid) => !earlier.has(pid))
        .flatMap(childrenOf);
      const mounts = readFileSync(`/proc/${host}/mountinfo`, "utf8").split("\n");
      const roots = mounts.filter((line) => / \S+\/shared\/\S+\/rootfs /.test(line));
      expect(roots.map((line) => line.split(" ")[5]?.split(",")[0])).toEqual(["ro"]);
    });

    test("/tmp is bounded, and the error of a call names that limit", async () => {
      const error = await sh("head -c 100000000 /dev/zero > /tmp/x || exit 3").catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(RunnerError);
      expect(error).toMatchObject({ code: "DiskFull", exitCode: 3 });
    });

    test("a FIFO of the image is another pipe in each call", async () => {
      const image = await withFifo();
      // Each call reads the pipe up to its own last line, after both have written the first.
      const script = (word: string): string =>
        `exec 3<>/pipe; echo ${word} >&3; sleep 2; echo end of ${word} >&3; ` +
        `while read -r line <&3; do echo "$line"; [ "$line" = "end of ${word}" ] && break; done`;
      const calls = await Promise.all(
        ["one", "two"].map((word) => runner.run(image, Buffer.from(`${script(word)}\n`)).then(String)),
      );
      expect(calls).toEqual(["one\nend of one\n", "two\nend of two\n"]);
    });

    test("the roots of an image without a FIFO are shared", async () => {
      const root = async (): Promise<string> => await sh("grep ' / / ' /proc/self/mountinfo | cut -d ' ' -f 3");
      const [one, two] = await Promise.all([root(), root()]);
      expect(one).toBe(two);
    });

    test("has the runner's network files if the network is Accessible", async () => {
      expect(await sh("cat /etc/hosts", { network: "Accessible" })).toBe(readFileSync("/etc/hosts", "utf8"));
    });

    test("/tmp has the usual mode", async () => {
      expect(await sh("ls -ld /tmp | cut -c1-10")).toBe("drwxrwxrwt\n");
    });
  });
});
