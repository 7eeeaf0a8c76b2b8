import { describe, expect, test } from "vitest";
import { before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { runnerOf } from "../harness/shell-function.ts";
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

  test.each([
    ["seccomp", "installs no seccomp filter", 's/"seccomp":{/"ignored":{/; s/"run.oci.seccomp_bpf_data"/"ignored"/'],
    ["the network", "makes no net namespace", 's/,{"type":"network"}//'],
    ["limits", "sets no resource limits", 's/"rlimits":/"ignored":/'],
  ])("refuses a runtime that ignores %s, before the first call too", async (_, reason, edit) => {
    await using workspace = await Workspace.create();
    const ignoring = [
      "#!/bin/sh",
      // A runtime reads its configuration once it is in its cgroups: it is a pipe until then.
      `for a; do case $a in --bundle=*) b=\${a#*=}; sed '${edit}' $b/config.json > $b/edited; rm $b/config.json; mv $b/edited $b/config.json;; esac; done`,
      'exec crun "$@"',
    ];
    const ociRuntime = await workspace.write("ignoring", `${ignoring.join("\n")}\n`, { mode: 0o755 });
    await using runner = await runnerOf(workspace, { ociRuntime });
    await expect(runner.check()).rejects.toMatchObject({ code: "StartFailed", retryable: false });
    await expect(runner.check()).rejects.toThrow(reason);
    await expect(runner.run("no/such-image", Buffer.from(""))).rejects.toThrow(reason);
  });

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
