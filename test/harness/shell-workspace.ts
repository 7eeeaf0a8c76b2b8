import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { type Before, before, leftovers } from "./leftovers.ts";
import { buildShellFunction } from "./shell-function.ts";
import { type As, Workspace } from "./workspace.ts";

/**
 * Gives the tests of a `describe` a shared workspace with the shell function. Call it before other hooks. After each
 * test, once later hooks have closed their resources, it checks for leaks.
 */
export function shellWorkspace(as: As = "self"): { readonly workspace: Workspace } {
  let workspace: Workspace;
  let state: Before;
  beforeAll(async () => {
    workspace = await Workspace.create({ as });
    await buildShellFunction(workspace);
  });
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    state = await before(workspace.root);
  });
  afterEach(async () => {
    expect(await leftovers(state)).toEqual([]);
  });
  return {
    get workspace() {
      return workspace;
    },
  };
}
