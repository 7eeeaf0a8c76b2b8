import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { type BuildConfig, type BuildEntry, buildImage } from "@xfn/oci-rootfs";
import { RunnerError } from "@xfn/runner";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { askImage, buildFiles, tinyProgram } from "../harness/runtime-images.ts";
import { runnerOf, SHELL, storeOf } from "../harness/shell-function.ts";
import { shellWorkspace } from "../harness/shell-workspace.ts";
import type { Workspace } from "../harness/workspace.ts";

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
    await using runner = await runnerOf(shared.workspace, {
      ociRuntime: await runtime("echo cannot work here >&2; exit 1"),
    });
    await expect(runner.run(SHELL, Buffer.from("echo done\n"))).rejects.toMatchObject({
      code: "StartFailed",
      phase: "start",
      stderr: "cannot work here\n",
    });
  });

  test("inherits only stdin, stdout and stderr (CVE-2024-21626)", async () => {
    // ls opens 3 for the listed folder.
    await using runner = await runnerOf(shared.workspace, {
      ociRuntime: await runtime("ls /proc/self/fd >&2; exit 1"),
    });
    await expect(runner.run(SHELL, Buffer.from("echo done\n"))).rejects.toMatchObject({ stderr: "0\n1\n2\n3\n" });
  });

  test("hangs: the call ends at its deadline", async () => {
    const marker = shared.workspace.path("hang");
    const ociRuntime = await runtime(`[ -e ${marker} ] && exec sleep 600; exec crun "$@"`);
    await using runner = await runnerOf(shared.workspace, { ociRuntime });
    // Its self-test, before the first call, succeeds.
    expect(await askImage(runner, SHELL, "echo done")).toBe("done\n");
    writeFileSync(marker, "");
    await expect(runner.run(SHELL, Buffer.from("echo done\n"), { timeoutMs: 500 })).rejects.toMatchObject({
      code: "Timeout",
    });
  });

  test("claims to be crun but ignores the filter: no function runs", needs("runc"), async () => {
    const ociRuntime = await runtime('shift; exec runc --rootless=true "$@"');
    await using runner = await runnerOf(shared.workspace, { ociRuntime });
    await expect(runner.run(SHELL, Buffer.from("echo done\n"))).rejects.toBeInstanceOf(RunnerError);
  });

  test("is not an OCI runtime: the first call fails, and the next one uses its repaired version", async () => {
    const ociRuntime = await shared.workspace.write("runtime", "#!/bin/sh\necho not me >&2\nexit 2\n", { mode: 0o755 });
    await using runner = await runnerOf(shared.workspace, { ociRuntime });
    await expect(runner.run(SHELL, Buffer.from("echo done\n"))).rejects.toMatchObject({
      code: "StartFailed",
      message: expect.stringContaining("not me"),
    });
    await runtime('exec crun "$@"');
    expect(await askImage(runner, SHELL, "echo done")).toBe("done\n");
  });

  test("lacks security fixes: the runner warns once", async () => {
    const ociRuntime = await shared.workspace.write(
      "runtime",
      '#!/bin/sh\ncase "$*" in *--version) echo crun version 1.19; exit;; esac\nexec crun "$@"\n',
      { mode: 0o755 },
    );
    const warnings: (string | undefined)[][] = [];
    await using runner = await runnerOf(shared.workspace, {
      ociRuntime,
      onWarning: (message, about) => warnings.push([message, about]),
    });
    for (let call = 0; call < 2; call++) expect(await askImage(runner, SHELL, "echo done")).toBe("done\n");
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
    await using runner = await runnerOf(shared.workspace);
    expect(await askImage(runner, "test/orders", "grep Seccomp: /proc/self/status")).toBe("Seccomp:\t2\n");
  });

  test("an entrypoint that looks like a runtime option runs as a program", async () => {
    await onShell(shared.workspace, "test/option", {
      entries: [{ path: "/--bundle=/x", content: '#!/bin/sh\necho "$0 $1"\n', mode: 0o755 }],
      config: { entrypoint: ["--bundle=/x", "--root=/y"], workdir: "/" },
    });
    await using runner = await runnerOf(shared.workspace);
    expect(await askImage(runner, "test/option", "")).toMatch(/--bundle=\/x --root=\/y\n$/);
  });

  test("NUL bytes in the environment are rejected", async () => {
    await onShell(shared.workspace, "test/nul", { entries: [], config: { env: { A: "b\0LD_PRELOAD=/x" } } });
    await using runner = await runnerOf(shared.workspace);
    await expect(runner.run("test/nul", Buffer.from(""))).rejects.toMatchObject({
      code: "ImageInvalid",
      retryable: false,
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
          await buildFiles(shared.workspace, image, [
            { path: `/${place}`, link: target },
            { path: "/function", content: selfReport(), mode: 0o755 },
          ]);
          await using runner = await runnerOf(shared.workspace, options);
          for (const network of ["Isolated", "Accessible"] as const) {
            // The image runs or fails. The sentinel must stay untouched in both cases.
            const outcome = await runner.run(image, Buffer.from(""), { network }).then(
              () => "ran",
              (error: { code: string }) => error.code,
            );
            expect(["ran", "StartFailed", "RootFilesystemFailed"]).toContain(outcome);
          }
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
