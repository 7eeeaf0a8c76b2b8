import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { Workspace } from "../harness/workspace.ts";
import type { Kind } from "./checks.ts";
import { stories } from "./checks.ts";
import type { Report } from "./vm.ts";
import { tellInVm, VM_MS } from "./vm.ts";

const WHO: Record<Kind, string> = {
  root: "as root",
  delegated: "as an ordinary user, with a delegated subtree",
  foreign: "as an ordinary user, in a group of somebody else's",
};

describe("a host with cgroup v2 alone", needs("crun", "root", "virtual-machine"), () => {
  let workspace: Workspace;
  let report: Report;
  beforeAll(async () => {
    workspace = await Workspace.create();
    await workspace.write("shell/function", '#!/bin/sh\nread -r script\neval "$script"\n', { mode: 0o755 });
    const layout = workspace.path("layout");
    const built = await workspace.xfn(["build", workspace.path("shell"), "-t", "test/shell", "-o", `oci:${layout}`]);
    if (built.code !== 0) throw new Error(built.stderr);
    report = await tellInVm(layout);
  }, VM_MS);
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
  });

  for (const [kind, who] of Object.entries(WHO) as [Kind, string][]) {
    // The other user reads the checkout there too, which may lie in a folder that is root's alone.
    describe(`${kind}: ${who}`, needs(...(kind === "root" ? [] : ["ordinary-user" as const])), () => {
      test.each(Object.keys(stories[kind]))("%s", (name) => {
        const told = report.told.find((story) => story.kind === kind && story.name === name);
        if (told === undefined) throw new Error(`the machine did not tell it:\n${report.console}`);
        expect(told.error).toBeUndefined();
      });
    });
  }
});
