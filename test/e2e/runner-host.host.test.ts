import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import process from "node:process";
import { type BuildEntry, buildImage } from "@xfn/oci-rootfs";
import { describe, expect, test, vi } from "vitest";
import { MAX_CONFIGS, SandboxHost } from "../../packages/runner/testing/sandbox-host.ts";
import { waitingRuntime } from "../harness/loaded-runtime.ts";
import { needs } from "../harness/needs.ts";
import { PATIENCE } from "../harness/patience.ts";
import { childrenOf, functionsBelow } from "../harness/processes.ts";
import { ask, failureOf, runnerOf, SHELL, storeOf } from "../harness/shell-function.ts";
import { shellWorkspace } from "../harness/shell-workspace.ts";

describe("the sandbox host", needs("crun"), () => {
  const shared = shellWorkspace();

  const container = (
    id: string,
    layers: string[],
    rootfs: "auto" | "copy" = "auto",
  ): Parameters<SandboxHost["prepare"]>[0] => ({
    id,
    layers,
    rootfs,
    readOnly: false,
    shared: null,
    networkFiles: false,
    owner: null,
    writableBytes: 1024 * 1024,
  });

  /** Runs `work` while this script replaces `unshare`. */
  const withUnshare = async (folder: string, script: string, work: () => Promise<void>): Promise<void> => {
    await mkdir(shared.workspace.path(folder));
    await shared.workspace.write(`${folder}/unshare`, script, { mode: 0o755 });
    const { PATH = "" } = process.env;
    process.env["PATH"] = `${shared.workspace.path(folder)}:${PATH}`;
    try {
      await work();
    } finally {
      process.env["PATH"] = PATH;
    }
  };

  test("is replaced after it failed to mount", async () => {
    // Only the first host lacks CAP_SYS_ADMIN. It starts late: a host that failed before the call needs it is replaced
    // at once, and the call succeeds.
    const once = shared.workspace.path("once");
    const script = `#!/bin/sh
[ -e ${once} ] && exec /usr/bin/unshare "$@"
: >${once}
sleep 2
options=
while case $1 in --*) true ;; *) false ;; esac; do options="$options $1" && shift; done
exec /usr/bin/unshare $options setpriv --bounding-set=-sys_admin "$@"
`;
    await withUnshare("bin", script, async () => {
      await using runner = await runnerOf(shared.workspace);
      const error = await failureOf(ask(runner, "echo first"));
      expect(error.code).toBe("NamespaceUnavailable");
      expect(error.message).toMatch(/mount .*EPERM/);
      expect(await ask(runner, "echo second")).toBe("second\n");
    });
  });

  test("starts the runtime's file if the kernel executes no memfd", needs("root"), async () => {
    // vm.memfd_noexec is a setting of the pid namespace since Linux 6.3. Older kernels always execute memfds.
    const script = `#!/bin/sh
options=
while case $1 in --*) true ;; *) false ;; esac; do options="$options $1" && shift; done
exec /usr/bin/unshare $options sh -c '
setting=/proc/sys/vm/memfd_noexec
[ ! -e $setting ] || echo 2 >$setting
exec "$@"' sh "$@"
`;
    await withUnshare("no-programs-from-memory", script, async () => {
      await using runner = await runnerOf(shared.workspace);
      expect(await ask(runner, "echo started")).toBe("started\n");
    });
  });

  test("gives each sandbox its configuration, even if a configuration number is reused", async () => {
    const host = new SandboxHost(shared.workspace.cache);
    try {
      await host.ready();
      const layer = shared.workspace.path("layer");
      await mkdir(layer);
      // These sandboxes use up all numbers.
      for (let n = 0; n < MAX_CONFIGS; n++) {
        await host.prepare(container(`n${n}`, [layer]), `configuration ${n}`);
        host.kill(`n${n}`, false);
      }
      // The second reuses the number of the first, in a message that arrives before the first has its root file system.
      await Promise.all([
        host.prepare(container("first", [layer], "copy"), "configuration 0"),
        host.prepare(container("second", [layer], "copy"), `configuration ${MAX_CONFIGS}`),
      ]);
      const configuration = (id: string): string =>
        readFileSync(`${host.scratchFromOutside}/calls/${id}/config.json`, "utf8");
      expect(configuration("first")).toBe("configuration 0");
      expect(configuration("second")).toBe(`configuration ${MAX_CONFIGS}`);
    } finally {
      await host.close();
    }
  });

  test("makes overlays again after a failed one", async () => {
    const host = new SandboxHost(shared.workspace.cache);
    try {
      await host.ready();
      const layer = shared.workspace.path("overlay-layer");
      await mkdir(layer);
      const gone = host.prepare(container("gone", [layer, shared.workspace.path("no-such-layer")]), "configuration");
      await expect(gone).rejects.toMatchObject({
        code: "RootFilesystemFailed",
        message: expect.stringMatching(/mount overlay .*ENOENT/),
      });
      const good = await host.prepare(container("good", [layer]), "configuration");
      expect(good).toMatchObject({ rootfs: "overlay" });
      expect(good.notice).toBeUndefined();
      // More layers than the kernel accepts.
      const many = Array.from({ length: 600 }, (_, number) => `${layer}/${number}`);
      for (const each of many) await mkdir(each);
      const copied = await host.prepare(container("many", many), "configuration");
      expect(copied).toMatchObject({ rootfs: "copy", notice: expect.stringContaining("mount overlay") });
      expect(await host.prepare(container("last", [layer]), "configuration")).toMatchObject({ rootfs: "overlay" });
    } finally {
      await host.close();
    }
  });

  test("runs other calls while it copies a large image", async () => {
    const store = await storeOf(shared.workspace);
    const entries = Array.from({ length: 14_000 }, (_, n): BuildEntry => ({ path: `/many/${n}`, content: "x" }));
    await buildImage({
      store,
      name: "test/many",
      base: await store.image(SHELL),
      layers: [{ entries }],
      config: {},
    });
    // Unpack the image first, so that its call only copies it.
    await store.image("test/many");
    await using runner = await runnerOf(shared.workspace, { rootfs: "copy" });
    await ask(runner, "echo up");
    let copying = true;
    const large = runner.run("test/many", Buffer.from("echo large\n")).finally(() => {
      copying = false;
    });
    let calls = 0;
    for (; copying; calls++) expect(await ask(runner, "echo small")).toBe("small\n");
    expect(Buffer.from(await large).toString()).toBe("large\n");
    // Only one or two calls fit if the copy blocks them.
    expect(calls).toBeGreaterThan(2);
  });

  test("leaks no descriptors when they run out", async () => {
    const earlier = new Set(childrenOf(process.pid));
    await using runner = await runnerOf(shared.workspace);
    for (const n of [1, 2]) expect(await ask(runner, `echo ${n}`)).toBe(`${n}\n`);
    const [unshare] = childrenOf(process.pid).filter((pid) => !earlier.has(pid));
    const [host] = childrenOf(unshare as number);
    const count = (): number => readdirSync(`/proc/${host}/fd`).length;
    const limit = (most: number): void => void execFileSync("prlimit", [`--pid=${host}`, `--nofile=${most}:4096`]);
    // After two calls the host has the descriptors of a loaded sandbox for the next one.
    await waitingRuntime();
    const resting = count();
    /** Lowers the host's limit so that it can open only `free` more descriptors. */
    const leave = (free: number): void => {
      const used = new Set(readdirSync(`/proc/${host}/fd`).map(Number));
      let most = 0;
      for (let left = free; left > 0 || used.has(most); most++) if (!used.has(most)) left--;
      limit(most);
    };
    for (let free = 1; free < 8; free++) {
      leave(free);
      await ask(runner, "echo none").catch(() => undefined);
    }
    limit(4096);
    expect(await ask(runner, "echo again")).toBe("again\n");
    await vi.waitFor(() => expect(count()).toBeLessThanOrEqual(resting), PATIENCE);
  });

  test("is killed by close if it is stopped, with the functions that run", async () => {
    const runner = await runnerOf(shared.workspace);
    const earlier = new Set(childrenOf(process.pid));
    await ask(runner, "echo up");
    const [unshare] = childrenOf(process.pid).filter((pid) => !earlier.has(pid));
    const [host] = childrenOf(unshare as number);
    const call = failureOf(ask(runner, "sleep 600"));
    await vi.waitFor(() => expect(functionsBelow(unshare as number)).toHaveLength(1), PATIENCE);
    process.kill(host as number, "SIGSTOP");
    await runner.close();
    expect((await call).code).toBe("Closed");
    expect(existsSync(`/proc/${host}`)).toBe(false);
  });

  test("reports its stderr to the operator, and not to callers, if it ends", async () => {
    const script = '#!/bin/sh\necho "trace of the host" >&2\nexec /usr/bin/unshare "$@"\n';
    const warnings: string[] = [];
    await withUnshare("noisy", script, async () => {
      await using runner = await runnerOf(shared.workspace, { onWarning: (message) => warnings.push(message) });
      const earlier = new Set(childrenOf(process.pid));
      await ask(runner, "echo up");
      const unshare = childrenOf(process.pid).find((pid) => !earlier.has(pid));
      const call = failureOf(ask(runner, "sleep 600"));
      await vi.waitFor(() => expect(functionsBelow(unshare as number)).toHaveLength(1), PATIENCE);
      process.kill(unshare as number, "SIGKILL");
      const error = await call;
      expect(error.code).toBe("Closed");
      expect(error.message).not.toContain("trace");
    });
    expect(warnings).toContain("the sandbox host ended: trace of the host");
  });
});
