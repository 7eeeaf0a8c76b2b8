import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { Workspace } from "../harness/workspace.ts";
import type { Kind } from "./checks.ts";
import { checks } from "./checks.ts";
import type { Report } from "./vm.ts";
import { runInVm, VM_MS } from "./vm.ts";

const TITLES: Record<Kind, string> = {
  root: "as root",
  delegated: "as an ordinary user, in a delegated subtree",
  foreign: "as an ordinary user, in a cgroup without delegation",
};

describe("a host with only cgroup v2", needs("crun", "root", "virtual-machine"), () => {
  let workspace: Workspace;
  let report: Report;
  beforeAll(async () => {
    workspace = await Workspace.create();
    await workspace.write("shell/function", '#!/bin/sh\nread -r script\neval "$script"\n', { mode: 0o755 });
    const layout = workspace.path("layout");
    const built = await workspace.xfn(["build", workspace.path("shell"), "-t", "test/shell", "-o", `oci:${layout}`]);
    if (built.code !== 0) throw new Error(built.stderr);
    report = await runInVm(layout);
  }, VM_MS);
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
  });

  for (const [kind, title] of Object.entries(TITLES) as [Kind, string][]) {
    // The ordinary user in the machine must be able to read the checkout.
    describe(`${kind}: ${title}`, needs(...(kind === "root" ? [] : ["ordinary-user" as const])), () => {
      test.each(Object.keys(checks[kind]))("%s", (name) => {
        const result = report.results.find((each) => each.kind === kind && each.name === name);
        if (result === undefined) throw new Error(`the machine did not report this check:\n${report.console}`);
        expect(result.error).toBeUndefined();
      });
    });
  }
});
