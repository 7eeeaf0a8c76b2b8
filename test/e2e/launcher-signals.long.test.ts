import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { which } from "../harness/which.ts";
import { Workspace } from "../harness/workspace.ts";
import { FakeCheckout } from "./fake-checkout.ts";

// The first set-up at a terminal: Ctrl-C, narrow windows, proxies and full disks.

let workspace: Workspace;
let checkout: FakeCheckout;

beforeEach(async () => {
  workspace = await Workspace.create();
  checkout = new FakeCheckout(workspace);
});

afterEach(async () => {
  await workspace[Symbol.asyncDispose]();
});

/** A program that ignores signals, and whose child does, too. It writes the ids of both. */
const stubborn = (ids: string): string => `#!/bin/sh
trap '' INT TERM HUP
sleep 1000 &
echo $$ $! >'${ids}.new'
mv '${ids}.new' '${ids}'
wait
`;

/** A program as the compiler is, which a signal ends unless only its parent gets it. */
const obedient = (ids: string): string =>
  `#!/bin/sh\necho $$ >'${ids}.new'\nmv '${ids}.new' '${ids}'\nexec sleep 1000\n`;

describe("a signal ends the set-up at once, with all that it has started", () => {
  const steps: [string, (ids: string) => void][] = [
    ["npm", (ids) => checkout.tool("npm", stubborn(ids))],
    [
      "the installation of Node",
      (ids) => {
        checkout.tool("node", "#!/bin/sh\necho v20.20.2\n");
        checkout.tool("npm", stubborn(ids));
      },
    ],
    [
      "the build",
      (ids) => {
        checkout.tool("build", obedient(ids));
        checkout.tool(
          "tsc",
          `require("node:child_process").execFileSync(${JSON.stringify(join(checkout.tools, "build"))});`,
        );
      },
    ],
    [
      "apt-get",
      (ids) => {
        rmSync(join(checkout.tools, "npm"));
        checkout.user(0);
        checkout.tool("apt-get", stubborn(ids));
      },
    ],
    [
      "the wait for another set-up",
      (ids) => {
        checkout.tool("flock", `#!/bin/sh\n[ "$1" != -n ] || exit 1\n${stubborn(ids)}`);
      },
    ],
    [
      "the build of an example's image",
      (ids) => {
        checkout.tool("build", obedient(ids));
        checkout.write("examples/images.txt", "one/fn one:v1\n");
        checkout.write("examples/one/xr.yaml", "kind: XOne\n");
        checkout.write(
          "packages/cli/src/main.ts",
          `process.getBuiltinModule("node:child_process").execFileSync(${JSON.stringify(join(checkout.tools, "build"))});`,
        );
      },
    ],
  ];
  const cases = steps.flatMap(([step, set]) => [
    { step, set, signal: "SIGINT", to: "the process group, as by Ctrl-C", code: 130 } as const,
    { step, set, signal: "SIGTERM", to: "the shell alone", code: 143 } as const,
  ]);

  test.each(cases)("$step: $signal to $to", async ({ set, signal, to, code }) => {
    const ids = workspace.path("ids");
    set(ids);
    const args = [join(checkout.root, "xfn"), "render", join(checkout.root, "examples/one/xr.yaml")];
    const env = { ...workspace.environment(), ...checkout.environment() };
    const child = spawn("/bin/sh", args, {
      cwd: workspace.path(),
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    // Once the streams are closed, no process that inherited them is left.
    const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
    while (!existsSync(ids)) {
      expect(child.exitCode, stderr).toBeNull();
      await sleep(10);
    }
    process.kill(to.startsWith("the process group") ? -(child.pid ?? 0) : (child.pid ?? 0), signal);
    expect(await closed, stderr).toBe(code);
    expect(stderr).toMatch(new RegExp(`xfn: stopped by ${signal}\n$`));
    // A killed process closes its streams before it has ended.
    for (const id of readFileSync(ids, "utf8").trim().split(" ")) while (isRunning(Number(id))) await sleep(10);
  });

  test("but a running dpkg completes the installation", async () => {
    rmSync(join(checkout.tools, "npm"));
    checkout.user(0);
    const [go, began, ended] = ["go", "began", "ended"].map((name) => workspace.path(name)) as [string, string, string];
    checkout.tool("dpkg", `#!/bin/sh\n: >'${began}'\nwhile [ ! -e '${go}' ]; do sleep 0.1; done\n: >'${ended}'\n`);
    checkout.tool("apt-get", `#!/bin/sh\n[ "$2" = update ] || dpkg\n`);
    const env = { ...workspace.environment(), ...checkout.environment() };
    const child = spawn("/bin/sh", [join(checkout.root, "xfn")], {
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
    while (!existsSync(began)) await sleep(10);
    process.kill(-(child.pid ?? 0), "SIGINT");
    expect(await exited).toBe(130);
    expect(existsSync(ended)).toBe(false);
    writeFileSync(go, "");
    while (!existsSync(ended)) await sleep(10);
    expect(stderr).toContain("apt-get completes its installation in the background");
  });
});

function isRunning(id: number): boolean {
  try {
    // A killed process that its parent has not collected is a zombie.
    return !/\) [ZX] /.test(readFileSync(`/proc/${id}/stat`, "utf8"));
  } catch {
    return false;
  }
}

describe("on a terminal", () => {
  const script = which("script");
  const onTerminal = async (columns: number): Promise<string> => {
    const command = `stty cols ${columns}; exec /bin/sh ${join(checkout.root, "xfn")}`;
    const env = { ...checkout.environment(), SHELL: "/bin/sh" };
    const { stdout } = await workspace.start([script ?? "", "-qec", command, "/dev/null"], { env }).finished;
    return stdout;
  };

  test.skipIf(script === undefined).each([30, 60, 200])("of %i columns, no counter wraps", async (columns) => {
    checkout.tool("node", "#!/bin/sh\necho v20.20.2\n");
    const npm = readFileSync(join(checkout.tools, "npm"), "utf8");
    // Two ticks, which the ticker itself makes.
    checkout.tool("npm", npm.replace("mkdir", "sleep 3\nmkdir"));
    const shown = await onTerminal(columns);
    const ticks = shown.split(/\r(?:\u001B\[K)?|\n/).filter((line) => /^xfn: .*: \d+ s/.test(line));
    expect(ticks.length, shown).toBeGreaterThan(0);
    for (const tick of ticks) expect(tick.length, tick).toBeLessThan(columns);
  });

  test.skipIf(script === undefined)("an error begins a line of its own", async () => {
    checkout.tool("npm", "#!/bin/sh\nsleep 2\necho broken >&2\nexit 1\n");
    const lines = (await onTerminal(80)).replaceAll(/[^\n]*\u001B\[K/g, "").split("\r\n");
    expect(lines).toContain("broken");
    expect(lines).toContain("xfn: npm could not install the packages: see above");
  });
});

describe("a failure with a known cause is one line that names cause and remedy", () => {
  const causes: [string, string, RegExp][] = [
    [
      "a full disk",
      "npm error code ENOSPC\nnpm error nospc ENOSPC: no space left on device, write",
      /no space is left.*free/,
    ],
    ["an exceeded quota", "npm error code EDQUOT", /quota.*free/],
    [
      "a proxy that is not trusted",
      "npm error code SELF_SIGNED_CERT_IN_CHAIN\nnpm error A complete log",
      /certificate.*NODE_EXTRA_CA_CERTS.*cafile/,
    ],
    [
      "a registry that is not trusted",
      "npm error code UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      /certificate.*NODE_EXTRA_CA_CERTS.*cafile/,
    ],
    ["an old certificate", "npm error code CERT_HAS_EXPIRED", /certificate.*clock/],
  ];
  test.each(causes)("npm: %s", async (_, output, line) => {
    checkout.tool("npm", `#!/bin/sh\necho '${output}' >&2\nexit 1\n`);
    const { code, stderr } = await checkout.xfn([]);
    expect(code).toBe(1);
    expect(stderr.split("\n")).toEqual(["xfn: installing packages (npm ci)", expect.stringMatching(line), ""]);
  });

  test("the build: a full disk", async () => {
    checkout.tool(
      "tsc",
      `console.error("error TS5033: Could not write file 'x': no space left on device."); process.exit(1);`,
    );
    const { code, stderr } = await checkout.xfn([]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/building\nxfn: the build failed: no space is left[^\n]*\n$/);
  });
});
