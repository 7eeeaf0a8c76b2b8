import { describe, expect, test } from "vitest";
import { before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { ask, failureOf, runnerOf, SHELL } from "../harness/shell-function.ts";
import { shellWorkspace } from "../harness/shell-workspace.ts";
import { Workspace } from "../harness/workspace.ts";

describe("the self-test", needs("crun"), () => {
  test.each([{}, { readOnlyRoot: true }, { rootfs: "copy" }] as const)(
    "runs a container, and leaves nothing: %j",
    async (options) => {
      const workspace = await Workspace.create();
      const state = await before(workspace.root);
      const runner = await runnerOf(workspace, options);
      try {
        await runner.check();
        await runner.check();
      } finally {
        await runner.close();
      }
      expect(await leftovers(state)).toEqual([]);
      await workspace[Symbol.asyncDispose]();
    },
  );

  test("fails with the reason if no container can run", async () => {
    const workspace = await Workspace.create();
    const broken = await workspace.write(
      "crun",
      '#!/bin/sh\ncase "$*" in *--version) echo crun version 1.20; exit;; esac\necho broken >&2\nexit 1\n',
      {
        mode: 0o755,
      },
    );
    const runner = await runnerOf(workspace, { ociRuntime: broken });
    try {
      await expect(runner.check()).rejects.toThrow(/no container can run: its container/);
    } finally {
      await runner.close();
      await workspace[Symbol.asyncDispose]();
    }
  });
});

describe("a runtime that ignores", needs("crun"), () => {
  const shared = shellWorkspace();

  test.each([
    ["seccomp", "installs no seccomp filter", 's/"seccomp":{/"ignored":{/; s/"run.oci.seccomp_bpf_data"/"ignored"/'],
    ["the network", "makes no net namespace", 's/,{"type":"network"}//'],
    ["limits", "sets no resource limits", 's/"rlimits":/"ignored":/'],
  ])("%s is refused, before the first call too", async (what, reason, edit) => {
    const ociRuntime = await runtime(what, edit);
    await using runner = await runnerOf(shared.workspace, { ociRuntime });
    await expect(runner.check()).rejects.toMatchObject({ code: "StartFailed", retryable: false });
    await expect(runner.check()).rejects.toThrow(reason);
    expect((await failureOf(ask(runner, "echo ran"))).message).toContain(reason);
    expect((await runner.serve(SHELL).catch((error: unknown) => String(error))).toString()).toContain(reason);
  });

  test("cgroups is refused, where calls can have limits", needs("crun", "cgroup-limits"), async () => {
    // Groups cannot be written at their usual place. Below a group with controllers, only leaves have processes.
    const leave = `while IFS=: read -r number controllers path; do
      case $path in */xfn-*) ;; *) continue;; esac
      above=\${state%/state}/cgroup/\${controllers#name=}\${path%/xfn-*}
      { echo $$ > $above/cgroup.procs || echo $$ > $above/xfn-supervisor/cgroup.procs; } 2>/dev/null
    done < /proc/self/cgroup`;
    const ociRuntime = await runtime("cgroups", "", leave);
    await using runner = await runnerOf(shared.workspace, { ociRuntime });
    expect((await failureOf(ask(runner, "echo ran"))).message).toContain("leaves the cgroups of its caller");
  });

  /** crun with an edited configuration, after a script. */
  async function runtime(name: string, edit: string, script: string = ""): Promise<string> {
    const lines = [
      "#!/bin/sh",
      "for one; do case $one in --bundle=*) bundle=${one#*=};; --root=*) state=${one#*=};; esac; done",
      // A runtime reads its configuration once it is in its cgroups: it is a pipe until then.
      `if [ -n "$bundle" ]; then cd $bundle; sed '${edit}' config.json > edited; rm config.json; mv edited config.json; fi`,
      script,
      'exec crun "$@"',
      "",
    ];
    return await shared.workspace.write(`ignores ${name}`, lines.join("\n"), { mode: 0o755 });
  }
});
