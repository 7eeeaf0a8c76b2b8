import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { type Before, before, leftovers } from "./leftovers.ts";
import { buildShellFunction } from "./shell-function.ts";
import { Workspace } from "./workspace.ts";

/**
 * For a `describe`, before its own hooks: a workspace with the shell function, which all of its tests share. Each of them leaves
 * nothing behind, once the hooks that come later have closed what it had.
 */
export function shellWorkspace(): { readonly workspace: Workspace } {
  let workspace: Workspace;
  let state: Before;
  beforeAll(async () => {
    workspace = await Workspace.create();
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
