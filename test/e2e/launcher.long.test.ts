import { chmodSync, chownSync, lstatSync, mkdirSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { ORDINARY_UID } from "../harness/paths.ts";
import { Workspace } from "../harness/workspace.ts";
import { FakeCheckout, seen } from "./fake-checkout.ts";

// The launcher with stand-ins for npm, tsc, apt-get and the program (fake-checkout.ts). Each run of CI tests the real
// ones, because it starts with a clean checkout.

let workspace: Workspace;
let checkout: FakeCheckout;

beforeEach(async () => {
  workspace = await Workspace.create();
  checkout = new FakeCheckout(workspace);
});

afterEach(async () => {
  await workspace[Symbol.asyncDispose]();
});

const installs = (calls: readonly string[]): string[] => calls.filter((call) => call.includes(" ci "));

describe("./xfn in a fresh clone", () => {
  test("installs, builds, and runs the program with its arguments in the user's folder", async () => {
    const result = await checkout.xfn(["validate", "a b", "", "*"]);
    expect(seen(result)).toMatchObject({ args: ["validate", "a b", "", "*"], cwd: workspace.path() });
    const calls = checkout.calls();
    expect(installs(calls)).toHaveLength(1);
    expect(calls.at(-1)).toBe("tsc");
    expect(result.stderr.split("\n")).toEqual(["xfn: installing packages (npm ci)", "xfn: building", ""]);
  });

  test("does and prints nothing the second time", async () => {
    await checkout.xfn([]);
    checkout.calls();
    const { stderr, code } = await checkout.xfn([]);
    expect({ stderr, code, calls: checkout.calls() }).toEqual({ stderr: "", code: 0, calls: [] });
  });

  test("returns the program's exit code", async () => {
    checkout.write("packages/cli/src/main.ts", "process.exit(2)");
    expect((await checkout.xfn([])).code).toBe(2);
  });

  test("installs no development tools", async () => {
    await checkout.xfn([]);
    expect(installs(checkout.calls())).toEqual([expect.stringMatching("--omit=dev --omit=peer")]);
  });

  test("can be called through a link", async () => {
    symlinkSync(join(checkout.root, "xfn"), workspace.path("to-xfn"));
    symlinkSync("to-xfn", workspace.path("link"));
    expect(seen(await checkout.run(["link", "x"])).args).toEqual(["x"]);
  });

  test("two concurrent starts set up once", async () => {
    checkout.npm("is-slow");
    const results = await Promise.all([checkout.xfn(["one"]), checkout.xfn(["two"])]);
    expect(results.map((result) => seen(result).args[0])).toEqual(["one", "two"]);
    expect(installs(checkout.calls())).toHaveLength(1);
    expect(results.map(({ stderr }) => stderr).join("")).toContain("waiting for another set-up");
  });

  test("shows npm's output if it fails, and retries the next time", async () => {
    const failing = checkout.npm("fails");
    const result = await checkout.xfn([]);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain("npm is out of order");
    rmSync(failing);
    expect((await checkout.xfn([])).code).toBe(0);
  });

  test("repeats an installation that was killed", async () => {
    await checkout.xfn([]);
    checkout.calls();
    rmSync(join(checkout.root, "node_modules/.package-lock.json"));
    expect((await checkout.xfn([])).code).toBe(0);
    expect(installs(checkout.calls())).toHaveLength(1);
  });
});

describe("./xfn-runner", () => {
  test("sets up like ./xfn, once for both, and runs its own program", async () => {
    const result = await checkout.run([join(checkout.root, "xfn-runner"), "healthcheck", "a b"]);
    expect(seen(result)).toMatchObject({
      args: ["healthcheck", "a b"],
      cwd: workspace.path(),
      main: join(checkout.root, "packages/runner/dist/program/main.js"),
    });
    expect(installs(checkout.calls())).toHaveLength(1);
    await checkout.xfn([]);
    expect(checkout.calls()).toEqual([]);
  });

  test("installs crun only for commands that run containers", async () => {
    checkout.user(0);
    checkout.apt();
    rmSync(join(checkout.tools, "crun"));
    for (const command of ["healthcheck", "--help"]) await checkout.run([join(checkout.root, "xfn-runner"), command]);
    const installed = (): string[] => checkout.calls().filter((call) => /^apt-get .*install.* crun$/.test(call));
    expect(installed()).toEqual([]);
    for (const command of ["serve", "run"]) {
      await checkout.run([join(checkout.root, "xfn-runner"), command]);
      expect(installed(), command).toHaveLength(1);
    }
  });
});

describe("./xfn-controller", () => {
  test("sets up like ./xfn without crun, and runs its own program", async () => {
    checkout.user(0);
    checkout.apt();
    rmSync(join(checkout.tools, "crun"));
    const result = await checkout.run([join(checkout.root, "xfn-controller"), "start", "a b"]);
    expect(seen(result)).toMatchObject({
      args: ["start", "a b"],
      cwd: workspace.path(),
      main: join(checkout.root, "packages/controller/dist/program/main.js"),
    });
    const calls = checkout.calls();
    expect(installs(calls)).toHaveLength(1);
    expect(calls.filter((call) => call.includes("crun"))).toEqual([]);
  });
});

describe("./xfn, once set up, builds again", () => {
  beforeEach(async () => {
    checkout.write("packages/cli/src/other.ts", "");
    await checkout.xfn([]);
    checkout.calls();
  });

  const changes: [string, () => void][] = [
    ["after an edit", () => checkout.write("packages/cli/src/other.ts", "export {}")],
    ["after a file was added", () => checkout.write("packages/cli/src/deep/new.ts", "")],
    ["after a file was removed", () => rmSync(join(checkout.root, "packages/cli/src/other.ts"))],
    ["after a file became older", () => utimesSync(join(checkout.root, "packages/cli/src/other.ts"), 1, 1)],
    ["when its output was removed", () => rmSync(join(checkout.root, "packages/cli/dist"), { recursive: true })],
  ];
  test.each(changes)("%s", async (_, change) => {
    change();
    expect((await checkout.xfn([])).code).toBe(0);
    expect(checkout.calls()).toEqual(["tsc"]);
  });

  test("but not after an edit of a test", async () => {
    checkout.write("packages/cli/src/other.test.ts", "");
    await checkout.xfn([]);
    expect(checkout.calls()).toEqual([]);
  });

  test("and installs again when the lock file changes", async () => {
    checkout.write("package-lock.json", '{ "packages": { "node_modules/a": { "version": "2.0.0" } } }');
    expect((await checkout.xfn([])).stderr).toContain("installing packages");
    expect(installs(checkout.calls())).toHaveLength(1);
  });
});

describe("if Node is too old, ./xfn", () => {
  beforeEach(() => {
    rmSync(join(checkout.tools, "node"));
    checkout.tool("node", "#!/bin/sh\necho v20.20.2\n");
  });

  test("installs one into the checkout, once", async () => {
    const first = await checkout.xfn([]);
    expect(first.stderr).toContain("installing Node");
    expect(seen(first).main).toBe(join(checkout.root, "packages/cli/dist/xfn.js"));
    checkout.calls();
    checkout.write("packages/cli/src/main.ts", "console.log(process.execPath)");
    const { stdout } = await checkout.xfn([]);
    expect(stdout).toContain(join(checkout.root, ".xfn/node/"));
    expect(checkout.calls()).toEqual(["tsc"]);
  });

  test("recovers from a partial installation", async () => {
    mkdirSync(join(checkout.root, ".xfn/node.new/node_modules"), { recursive: true });
    mkdirSync(join(checkout.root, ".xfn/node"));
    expect((await checkout.xfn([])).code).toBe(0);
  });
});

describe("if a program of the system is missing, ./xfn", () => {
  test("prints one command for root, if npm is missing", async () => {
    rmSync(join(checkout.tools, "npm"));
    rmSync(join(checkout.tools, "crun"));
    checkout.apt();
    checkout.user(1000);
    const { code, stderr } = await checkout.xfn([]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/npm is not installed; as root: .*nodejs npm crun\n$/);
    expect(checkout.calls()).toEqual([]);
  });

  test("as root installs npm", async () => {
    rmSync(join(checkout.tools, "npm"));
    checkout.user(0);
    checkout.apt();
    const { stderr } = await checkout.xfn([]);
    expect(stderr).toContain("installing nodejs npm (apt-get)");
    expect(checkout.calls().filter((call) => call.startsWith("apt-get -q install"))).toHaveLength(1);
  });

  test.each(["render", "run"])("as root installs crun for %s", async (command) => {
    rmSync(join(checkout.tools, "crun"));
    checkout.user(0);
    checkout.apt();
    expect(seen(await checkout.xfn([command])).args).toEqual([command]);
    expect(checkout.calls().filter((call) => /^apt-get -q install .* crun$/.test(call))).toHaveLength(1);
  });

  test("prints the command for crun, and continues", async () => {
    rmSync(join(checkout.tools, "crun"));
    checkout.apt();
    checkout.user(1000);
    const result = await checkout.xfn(["render"]);
    expect(seen(result).args).toEqual(["render"]);
    expect(result.stderr).toMatch(/crun is not installed; as root: .*crun\n$/);
  });

  test.each([
    ["templates alone", "spec:\n  # functions: none\n  resources: []\n", false],
    ["functions", "spec:\n  functions:\n  - name: a\n", true],
    ["a pipeline", "spec:\n  mode: Pipeline\n  pipeline:\n  - step: a\n", true],
    ["functions, in JSON", '{"spec":{"functions":[]}}', true],
  ])("asks for crun only to render functions: a composition of %s", async (_, composition, asks) => {
    rmSync(join(checkout.tools, "crun"));
    checkout.user(1000);
    checkout.write("xr.yaml", "kind: XThing\n");
    checkout.write("composition.yaml", composition);
    const files = ["xr.yaml", "composition.yaml"].map((name) => join(checkout.root, name));
    const { stderr } = await checkout.xfn(["render", ...files]);
    expect(stderr.includes("crun is not installed")).toBe(asks);
  });

  test.each(["doctor", "types", "validate", "--help"])("does not ask for crun for %s", async (command) => {
    rmSync(join(checkout.tools, "crun"));
    checkout.user(0);
    checkout.apt();
    expect((await checkout.xfn([command])).stderr).not.toContain("crun");
    expect(checkout.calls().filter((call) => call.startsWith("apt-get"))).toEqual([]);
  });
});

describe("./xfn for a user without a home", () => {
  const homeless = { HOME: undefined, XDG_CACHE_HOME: undefined };
  const fallback = (): string => join(workspace.root, "tmp", `xfn-${process.getuid?.()}`);

  test("has its cache in a private temporary folder", async () => {
    expect(seen(await checkout.xfn([], { env: homeless })).cache).toBe(fallback());
    expect(lstatSync(fallback()).mode & 0o777).toBe(0o700);
    expect((await checkout.xfn([], { env: homeless })).code).toBe(0);
  });

  test("or with a read-only home, does the same", async () => {
    const env = { HOME: "/dev/null", XDG_CACHE_HOME: undefined };
    expect(seen(await checkout.xfn([], { env })).cache).toBe(fallback());
  });

  test("does not use an outer npm's cache", async () => {
    const env = { ...homeless, npm_config_cache: "/dev/null/.npm" };
    expect((await checkout.xfn([], { env })).code).toBe(0);
    expect(checkout.npmCache()).toBe("unset");
  });

  test("refuses a folder that others can write to", async () => {
    mkdirSync(fallback());
    chmodSync(fallback(), 0o777);
    const { code, stderr } = await checkout.xfn([], { env: homeless });
    expect(code).toBe(1);
    expect(stderr).toContain("set XDG_CACHE_HOME");
  });

  test("refuses a link in its place", async () => {
    mkdirSync(workspace.path("elsewhere"), { mode: 0o700 });
    symlinkSync(workspace.path("elsewhere"), fallback());
    expect((await checkout.xfn([], { env: homeless })).code).toBe(1);
  });
});

describe("./xfn in a read-only checkout", needs("ordinary-user"), () => {
  let user: Workspace;

  beforeEach(async () => {
    user = await Workspace.create({ as: "ordinary-user" });
    for (const path of [workspace.root, join(workspace.root, "work")]) chmodSync(path, 0o755);
    chmodSync(checkout.root, 0o555);
    for (const folder of ["packages", "packages/cli", "packages/cli/src", "scripts"])
      chmodSync(join(checkout.root, folder), 0o555);
    checkout.calls();
  });

  afterEach(async () => {
    chmodSync(checkout.root, 0o755);
    for (const folder of ["packages", "packages/cli", "packages/cli/src", "scripts"])
      chmodSync(join(checkout.root, folder), 0o755);
    await user[Symbol.asyncDispose]();
  });

  const env = (): Record<string, string> => ({
    PATH: checkout.tools,
    TOOLS: checkout.tools,
    CALLS: workspace.path("calls"),
  });
  const start = async (...args: string[]): ReturnType<Workspace["xfn"]> =>
    await user.start(["/bin/sh", join(checkout.root, "xfn"), ...args], { env: env() }).finished;

  test("runs from a copy in the user's cache, in the user's folder", async () => {
    const result = await start("x");
    expect(seen(result).cwd).toBe(user.path());
    expect(seen(result).main).toMatch(
      new RegExp(`^${RegExp.escape(user.cache)}/checkout-[^/]+/packages/cli/dist/xfn.js$`),
    );
    checkout.calls();
    expect((await start("x")).stderr).toBe("");
    expect(checkout.calls()).toEqual([]);
  });

  test.each([
    ["belongs to another user", 0, 0o755],
    ["can be written to by others", ORDINARY_UID, 0o777],
  ])("refuses a cache folder that %s", needs("root"), async (_, owner, mode) => {
    // In a folder where every user can make one.
    chmodSync(dirname(user.cache), 0o1777);
    rmSync(user.cache, { recursive: true, force: true });
    mkdirSync(user.cache);
    chmodSync(user.cache, mode);
    chownSync(user.cache, owner, owner);
    const { code, stderr } = await start("x");
    expect(code).toBe(1);
    expect(stderr).toContain("set XDG_CACHE_HOME to a folder of your own");
    chmodSync(user.cache, 0o700);
    chownSync(user.cache, ORDINARY_UID, ORDINARY_UID);
    expect((await start("x")).code).toBe(0);
  });

  test("updates the copy after a change of the original", async () => {
    await start();
    chmodSync(join(checkout.root, "packages/cli/src"), 0o755);
    checkout.write("packages/cli/src/main.ts", 'console.log("new")');
    expect((await start()).stdout).toBe("new\n");
  });

  test("runs from the checkout after another user has set it up", async () => {
    chmodSync(checkout.root, 0o755);
    chmodSync(join(checkout.root, "packages/cli"), 0o755);
    await checkout.xfn([]);
    chmodSync(checkout.root, 0o555);
    chmodSync(join(checkout.root, "packages/cli"), 0o555);
    expect(seen(await start()).main).toBe(join(checkout.root, "packages/cli/dist/xfn.js"));
  });
});
