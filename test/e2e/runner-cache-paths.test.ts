import { rename } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { addHostBases } from "../harness/host-bases.ts";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { USERS, Workspace } from "../harness/workspace.ts";

/** Characters that separate or escape the options of mount(2), lists of paths, and shell words. */
const NAMES = ["a:b", "a,b", "a\\b", "a\\:b,upperdir=c=d", "a b'c\"d$e", "a%sé\n"];

const INPUT = JSON.stringify({
  apiVersion: "apiextensions.crossplane.io/v1alpha1",
  kind: "FunctionIO",
  observed: { composite: { resource: { apiVersion: "x.org/v1", kind: "X", metadata: { name: "a-composite" } } } },
  desired: {},
});

describe.each(USERS)("a cache folder of %s", (as) => {
  describe(
    "whose path has unusual characters",
    needs("crun", ...(as === "self" ? [] : (["ordinary-user"] as const))),
    () => {
      let workspace: Workspace;
      let state: Before;
      beforeEach(async () => {
        workspace = await Workspace.create({ as });
        state = await before(workspace.root);
        await addHostBases(workspace, "sh");
        await workspace.write("echo/function", '#!/bin/sh\nread -r line; echo "$line"\n', { mode: 0o755 });
      });
      afterEach(async () => {
        expect(await leftovers(state)).toEqual([]);
        await workspace[Symbol.asyncDispose]();
      });

      test.each(NAMES)("works: %j", async (name) => {
        const home = await workspace.makeFolder(name);
        await rename(workspace.cache, join(home, "xfn"));
        const options = { input: INPUT, env: { XDG_CACHE_HOME: home } };
        for (const rootfs of ["overlay", "copy"]) {
          const ran = await workspace.xfn(["run", "./echo", "--rootfs", rootfs], options);
          expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining("a-composite") });
        }
      });
    },
  );
});
