import type { Runner } from "@xfn/runner";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { buildPythonGreeting, buildTypeScriptGreeting } from "../harness/sdk-functions.ts";
import { callServed, greetingOf } from "../harness/served-functions.ts";
import { runnerOf } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";

describe.each([
  { sdk: "Python", build: buildPythonGreeting, set: needs("crun", "python-sdk") },
  { sdk: "TypeScript", build: buildTypeScriptGreeting, set: needs("crun", "typescript-sdk") },
])("a served function of the $sdk SDK", ({ build, set }) => {
  describe("as it is published", set, () => {
    let workspace: Workspace;
    let image: string;
    let state: Before;
    let runner: Runner;
    beforeAll(async () => {
      workspace = await Workspace.create();
      image = await build(workspace);
    }, 600_000);
    afterAll(async () => {
      await workspace[Symbol.asyncDispose]();
    });
    beforeEach(async () => {
      state = await before(workspace.root);
      runner = await runnerOf(workspace, { readOnlyRoot: true });
    });
    afterEach(async () => {
      await runner.close();
      expect(await leftovers(state)).toEqual([]);
    });

    test("answers call after call on a read-only root", async () => {
      const served = await runner.serve(image, { env: { GREETING: "Hello" } });
      for (const name of ["Ada", "Grace"])
        expect(greetingOf(await callServed(served, name))).toEqual({ greeting: `Hello ${name}` });
      served.release();
    });
  });
});
