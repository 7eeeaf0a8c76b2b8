import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Workspace } from "../harness/workspace.ts";
import { FakeCheckout } from "./fake-checkout.ts";

// `npm test` and `npm run test:long` with stand-ins for vitest, apt-get and the other programs that it calls.

let workspace: Workspace;
let checkout: FakeCheckout;

const VITEST = `import fs from "node:fs";
fs.appendFileSync(process.env.CALLS, "vitest " + process.argv.slice(2).join(" ") + "\\n");
fs.appendFileSync(process.env.CALLS, "cluster " + (process.env.XFN_TEST_CLUSTER ?? "any time") + "\\n");
fs.appendFileSync(process.env.CALLS, "set " + (process.env.XFN_TEST_SET ?? "all") + "\\n");
const file = process.argv.find((argument) => argument.startsWith("--outputFile.json=")).split("=")[1];
fs.writeFileSync(file, '{"testResults":[]}');
`;

// A stand-in for the build of the API server. `--check` finds that it is missing, unless the file `server` exists.
const SERVER = `import fs from "node:fs";
if (process.argv[2] === "--check") process.exit(fs.existsSync(new URL("../server", import.meta.url)) ? 0 : 1);
fs.appendFileSync(process.env.CALLS, "server\\n");
`;

const AFTER_SERVER = `import { readFileSync } from "node:fs";
while (!readFileSync(process.env.CALLS, "utf8").includes("server\\n")) await new Promise((resolve) => setTimeout(resolve, 20));
`;

beforeEach(async () => {
  workspace = await Workspace.create();
  checkout = new FakeCheckout(workspace);
  checkout.user(0);
  checkout.apt();
  checkout.write("test/host-skips", "");
  checkout.write("test/cgroup-v2/kernel.sh", 'echo kernel >>"$CALLS"\n');
  checkout.write("scripts/api-server.ts", SERVER);
  // The stand-in for npm keeps what is in node_modules.
  checkout.write("node_modules/vitest/vitest.mjs", VITEST);
  checkout.write("node_modules/@biomejs/biome/package.json", "{}");
  rmSync(join(checkout.tools, "crun"));
  mkdirSync(join(checkout.root, "databases"));
  // Set up, as after `./xfn`.
  await checkout.xfn([]);
  checkout.calls();
});

afterEach(async () => {
  await workspace[Symbol.asyncDispose]();
});

const npmTest = (...args: string[]): ReturnType<FakeCheckout["run"]> =>
  checkout.run([join(checkout.root, "scripts/test.sh"), ...args]);

describe("npm test with arguments", () => {
  test.each([[["--root", "databases"]], [["packages/units"]]])("only runs vitest: %j", async (args) => {
    const { code, stdout, stderr } = await npmTest(...args);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "0 passed, 0 failed, 0 skipped\n", stderr: "" });
    const vitest = expect.stringMatching(`^vitest run ${args.join(" ")} --reporter=default`);
    expect(checkout.calls()).toEqual([vitest, "cluster any time", "set all"]);
  });
});

describe("the development tools", () => {
  const installs = (): string[] => checkout.calls().filter((call) => call.includes(" ci "));

  test("are installed by npm test, once, and kept by ./xfn", async () => {
    checkout.write("server", "");
    rmSync(join(checkout.root, "node_modules/@biomejs/biome/package.json"));
    const { code, stderr } = await npmTest();
    expect(code, stderr).toBe(0);
    expect(installs()).toEqual([expect.stringContaining("--include=dev")]);
    await npmTest();
    expect(installs()).toEqual([]);
    checkout.write("package-lock.json", '{ "packages": { "node_modules/a": { "version": "2.0.0" } } }');
    await checkout.xfn([]);
    expect(installs()).toEqual([expect.stringContaining("--include=dev")]);
  });

  test("are not there after an installation that was killed", async () => {
    rmSync(join(checkout.root, "node_modules/.package-lock.json"));
    expect((await npmTest("x")).code).toBe(0);
    expect(installs()).toEqual([expect.stringContaining("--include=dev")]);
  });
});

describe("npm test alone", () => {
  test("says what it installs, and only then installs it", async () => {
    // `npm test` ends the build of the API server with the tests.
    checkout.write("node_modules/vitest/vitest.mjs", `${AFTER_SERVER}${VITEST}`);
    const { code, stderr } = await npmTest();
    expect(code).toBe(0);
    const lines = stderr.split("\n");
    const said = lines.findIndex((line) => /with apt-get: crun .*chromium-headless-shell/.test(line));
    const installing = lines.findIndex((line) => line.startsWith("xfn: installing crun"));
    expect(said).toBeGreaterThanOrEqual(0);
    expect(installing).toBeGreaterThan(said);
    expect(stderr).toContain("To run some tests and install nothing, name them: npm test -- PATH");
    const calls = checkout.calls();
    expect(calls.filter((call) => call.startsWith("apt-get -q install"))).toHaveLength(1);
    expect(calls).toContain("server");
    expect(calls.some((call) => call.startsWith("vitest run --reporter"))).toBe(true);
    // The tests that wait for the build are the last.
    expect(calls).toContain("cluster last");
  });

  test("builds no API server if there is one, and runs its tests together with the others", async () => {
    checkout.write("server", "");
    expect((await npmTest()).code).toBe(0);
    const calls = checkout.calls();
    expect(calls).toContain("cluster any time");
    expect(calls).not.toContain("server");
    expect(calls).not.toContain("kernel");
    expect(calls).toContain("set short");
  });
});

describe("npm run test:long", () => {
  test("runs the long tests, with a kernel for the virtual machine", async () => {
    checkout.write("server", "");
    const script = join(checkout.root, "scripts/test.sh");
    expect((await checkout.run([script], { env: { XFN_TEST_SET: "long" } })).code).toBe(0);
    const calls = checkout.calls();
    expect(calls).toContain("set long");
    if (process.arch === "x64") expect(calls).toContain("kernel");
  });
});
