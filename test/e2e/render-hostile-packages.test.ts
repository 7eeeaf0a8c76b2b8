import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { buildScriptImage } from "../harness/served-functions.ts";
import { Workspace } from "../harness/workspace.ts";

// The whole xfn render, with packages whose server listens but is not a function.

const XR = "apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: thing}\n";
const COMPOSITION = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: things}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  mode: Pipeline
  pipeline:
  - {step: hostile, functionRef: {name: function-hostile}}
`;
const FUNCTIONS = `apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: function-hostile}
spec: {package: test/hostile}
`;

const LISTEN = "/bin/busybox nc -l -p 9443";

describe("a package whose server", needs("crun", "busybox"), () => {
  let workspace: Workspace;
  let state: Before;
  beforeAll(async () => {
    workspace = await Workspace.create();
    await workspace.write("xr.yaml", XR);
    await workspace.write("composition.yaml", COMPOSITION);
    await workspace.write("functions.yaml", FUNCTIONS);
  });
  afterEach(async () => {
    expect(await leftovers(state)).toEqual([]);
  });
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
  });

  test.each([
    ["answers with garbage", `while :; do echo garbage garbage garbage | ${LISTEN}; done`, /does not speak HTTP\/2/],
    ["speaks HTTP/1", "exec /bin/busybox httpd -f -p 9443 -h /tmp", /does not speak HTTP\/2/],
    ["closes every connection", `while :; do ${LISTEN} </dev/null -e /bin/busybox true; done`, /connection/],
    [
      "exits after the first connection",
      `echo going >&2; ${LISTEN} -e /bin/busybox sleep 1; exit 9`,
      /connection|code 9/,
    ],
    ["never answers", `exec /bin/busybox nc -ll -p 9443 -e /bin/busybox sleep 1000`, /--timeout/],
  ])("%s fails the render with the step and the package; nothing is left", async (_, script, why) => {
    await buildScriptImage(workspace, "test/hostile", script);
    state = await before(workspace.root);
    const args = ["xr.yaml", "composition.yaml", "functions.yaml", "--timeout", "5s"];
    const { code, stdout, stderr } = await workspace.xfn(["render", ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain('step "hostile"');
    expect(stderr).toMatch(why);
    expect(stderr).not.toContain("    at ");
  });
});
