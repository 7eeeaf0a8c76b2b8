import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Workspace } from "../harness/workspace.ts";
import { FakeCheckout } from "./fake-checkout.ts";

// The images that the launcher builds before it renders an example, with the stand-ins of fake-checkout.ts.

let workspace: Workspace;
let checkout: FakeCheckout;

beforeEach(async () => {
  workspace = await Workspace.create();
  checkout = new FakeCheckout(workspace);
});

afterEach(async () => {
  await workspace[Symbol.asyncDispose]();
});

describe("the images of an example", () => {
  beforeEach(() => {
    checkout.write(
      "examples/images.txt",
      "# comment\n\none/fn  example/one:v1\none/other example/other\ntwo/fn example/two\n",
    );
    for (const folder of ["one/fn", "one/other", "two/fn"]) checkout.write(`examples/${folder}/function.ts`, folder);
    checkout.write("examples/one/xr.yaml", "");
  });
  const builds = (): string[] =>
    checkout
      .calls()
      .filter((call) => call.startsWith("xfn build"))
      .map((call) => call.replace(/.* -t /, ""));
  const xr = (): string => join(checkout.root, "examples/one/xr.yaml");

  test("are built once by a render of the example", async () => {
    await checkout.xfn(["render", xr()]);
    expect(builds()).toEqual(["example/one:v1", "example/other"]);
    const { stderr } = await checkout.xfn(["render", xr()]);
    expect({ stderr, builds: builds() }).toEqual({ stderr: "", builds: [] });
  });

  test("are built by a render in its folder", async () => {
    await checkout.xfn(["render", "xr.yaml"], { cwd: join(checkout.root, "examples/one") });
    expect(builds()).toEqual(["example/one:v1", "example/other"]);
  });

  test("are built again after an edit of their function", async () => {
    await checkout.xfn(["render", xr()]);
    builds();
    checkout.write("examples/one/fn/function.ts", "edited");
    await checkout.xfn(["render", xr()]);
    expect(builds()).toEqual(["example/one:v1"]);
  });

  test("are built again after a build of xfn", async () => {
    await checkout.xfn(["render", xr()]);
    builds();
    checkout.write("packages/cli/src/new.ts", "");
    await checkout.xfn(["render", xr()]);
    expect(builds()).toHaveLength(2);
  });

  test("are not built for files outside the checkout", async () => {
    mkdirSync(workspace.path("examples/one"), { recursive: true });
    writeFileSync(workspace.path("examples/one/xr.yaml"), "");
    await checkout.xfn(["render", "examples/one/xr.yaml"]);
    await checkout.xfn(["validate", xr()]);
    expect(builds()).toEqual([]);
  });

  test("stop the program if the disk is full, with one line", async () => {
    const full = `console.error("xfn: cannot store it: ENOSPC: no space left on device"); process.exit(1);`;
    checkout.write("packages/cli/src/main.ts", full);
    const { code, stderr } = await checkout.xfn(["render", xr()]);
    expect(code).toBe(1);
    expect(stderr.split("\n").slice(2)).toEqual([
      expect.stringContaining("building the image example/one:v1"),
      expect.stringMatching(/no space is left/),
      "",
    ]);
  });

  test("do not stop the program if they cannot be built", async () => {
    checkout.write(
      "packages/cli/src/main.ts",
      'if (process.argv[2] === "build") { console.error("no"); process.exit(1); }',
    );
    const { code, stderr } = await checkout.xfn(["render", xr()]);
    expect(code).toBe(0);
    expect(stderr).toContain("could not build the image example/one:v1");
  });
});
